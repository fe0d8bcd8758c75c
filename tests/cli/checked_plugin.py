"""A family with checks of every kind, for the command line's tests."""

import dataclasses
from dataclasses import dataclass

from harness import Array, Check, Cost, Family, Judgement, Semantics, Unsupported, exact, implementation


@dataclass(frozen=True)
class DoubledWorkload:
    seq: int
    dtype: str = "f32"


def _positive(trial):
    """Called on its own inputs."""
    import numpy as np

    found = trial.call({"x": np.ones_like(trial.inputs["x"])})
    return Judgement(bool((found > 0).all()), {"least": float(found.min())}, "a doubled one is not positive")


def _longer(trial):
    """Twice as many elements, where the implementation supports that."""
    import numpy as np

    w = dataclasses.replace(trial.workload, seq=2 * trial.workload.seq)
    found = trial.solve(w, {"x": np.ones((1, w.seq), "f4")})
    right = found.shape == (1, w.seq) and bool((found == 2).all())
    return Judgement(right, {"elements": int(found.size)}, "" if right else "a longer one is not doubled")


def _slope(trial):
    """The gradient of a double is two cotangents, whatever is doubled."""
    import numpy as np

    changed = trial.call({"x": np.zeros_like(trial.inputs["x"])})
    same = bool((changed["gradients"]["x"] == trial.result["gradients"]["x"]).all())
    return Judgement(
        same and trial.mode == "bwd", {}, "" if same else "the gradient depends on what is doubled"
    )


FAMILY = Family(
    name="doubled",
    question="is it twice as much?",
    workload=DoubledWorkload,
    shapes=lambda w: {"x": Array((1, w.seq), "f32")},
    inputs=lambda w, random: {"x": random.standard_normal((1, w.seq), "f4")},
    semantics={
        "exact": Semantics(
            "exact",
            lambda w, rows: lambda x: x + x,
            exact(),
            gradient=exact(),
            framework="torch",
            cost=lambda w: Cost(flops=w.seq),
        )
    },
    modes=("fwd", "bwd"),
    checks=(
        Check("positive", "ones must not vanish (a reviewer)", _positive),
        Check(
            "size", "how large does it get?", lambda t: Judgement(False, {"n": t.result.size}), decides=False
        ),
        Check("short", "only short ones", lambda t: Judgement(False, {}, "never"), when=lambda w: w.seq < 4),
        Check("longer", "does it hold for twice the length?", _longer),
        Check("slope", "the slope is constant", _slope, modes=("bwd",)),
        Check("raises", "only of weights", lambda t: 1 / 0, inputs=("weight",)),
    ),
)


@implementation(framework="numpy", semantics="exact")
def added(w: DoubledWorkload):
    """Added to itself."""
    return lambda x: x + x


@implementation(framework="numpy", semantics="exact")
def remembered(w: DoubledWorkload):
    """Correct for its first inputs, and wrong afterwards."""
    seen = []

    def call(x):
        seen.append(x)
        return x + x if len(seen) < 1000 and float(x.flat[0]) != 1.0 else 0 * x

    return call


@implementation(
    framework="numpy",
    semantics="exact",
    expect={"incorrect": "triples"},
    fails=lambda w, options: {"longer": "it triples"} if options["declared"] else {},
)
def tripled(w: DoubledWorkload, *, declared: bool = True):
    """Wrong, and declared to be."""
    return lambda x: x + x + x


@implementation(
    framework="torch",
    semantics="exact",
    fails=lambda w, options: {"positive": "so it was said"},
    facts=lambda w, static, options: {"elements": w.seq, "doubled_by": "adding", "nothing": None},
)
def declared(w: DoubledWorkload):
    """Declared to fail a check that it passes; refuses any length but its own."""
    if w.seq != 8:
        raise Unsupported(f"seq {w.seq} is not 8; use that")
    return lambda x: x + x
