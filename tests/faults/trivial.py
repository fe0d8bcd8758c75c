"""A family without work, to measure the overhead of the harness per case."""

from dataclasses import dataclass

from seqsweep import Array, Family, Semantics, Workload, axis, exact, implementation


@dataclass(frozen=True)
class TrivialWorkload(Workload):
    seq: int = axis()
    rows: int = axis(1)


FAMILY = Family(
    name="trivial",
    question="What does a case cost besides its work?",
    workload=TrivialWorkload,
    shapes=lambda w: {"x": Array((w.rows, w.seq), "f32")},
    inputs=lambda w, rng: {"x": rng.integers(0, 8, (w.rows, w.seq)).astype("f4")},
    semantics={"twice": Semantics("twice", lambda w, rows: lambda x: x + x, exact())},
)


@implementation(framework="numpy", semantics="twice")
def added(w: TrivialWorkload):
    """x + x."""
    return lambda x: x + x


@implementation(framework="numpy", semantics="twice")
def doubled(w: TrivialWorkload):
    """2 x."""
    return lambda x: 2 * x
