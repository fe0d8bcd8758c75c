"""A family with checks of every kind, for the command line's tests."""

from dataclasses import dataclass

from harness import Array, Check, Family, Judgement, Semantics, exact, implementation


@dataclass(frozen=True)
class DoubledWorkload:
    seq: int
    dtype: str = "f32"


def _positive(trial):
    """Called on inputs of its own making."""
    import numpy as np

    found = trial.call({"x": np.ones_like(trial.inputs["x"])})
    return Judgement(bool((found > 0).all()), {"least": float(found.min())}, "a doubled one is not positive")


FAMILY = Family(
    name="doubled",
    question="is it twice as much?",
    workload=DoubledWorkload,
    shapes=lambda w: {"x": Array((1, w.seq), "f32")},
    inputs=lambda w, random: {"x": random.standard_normal((1, w.seq), "f4")},
    semantics={"exact": Semantics("exact", lambda w, rows: lambda x: x + x, exact())},
    checks=(
        Check("positive", "ones must not vanish (a reviewer)", _positive),
        Check(
            "size", "how large does it get?", lambda t: Judgement(False, {"n": t.result.size}), decides=False
        ),
        Check("short", "only short ones", lambda t: Judgement(False, {}, "never"), when=lambda w: w.seq < 4),
        Check("raises", "only of weights", lambda t: 1 / 0, inputs=("weight",)),
    ),
)


@implementation(framework="numpy", semantics="exact")
def added(w: DoubledWorkload):
    """Added to itself."""
    return lambda x: x + x


@implementation(framework="numpy", semantics="exact")
def remembered(w: DoubledWorkload):
    """Right for what it was first asked, and gone wrong after."""
    seen = []

    def call(x):
        seen.append(x)
        return x + x if len(seen) < 1000 and float(x.flat[0]) != 1.0 else 0 * x

    return call
