"""A family with two numpy implementations and a sweep of a few seconds."""

from dataclasses import dataclass

from seqsweep import Array, Family, Semantics, Workload, axis, exact, implementation


@dataclass(frozen=True)
class SumsWorkload(Workload):
    seq: int = axis()
    rows: int = 8


FAMILY = Family(
    name="sums",
    question="Does a scan beat a product with a triangle of ones?",
    workload=SumsWorkload,
    shapes=lambda w: {"x": Array((w.rows, w.seq), "f32")},
    inputs=lambda w, rng: {"x": rng.integers(0, 8, (w.rows, w.seq)).astype("f4")},
    semantics={"running": Semantics("running", lambda w, rows: lambda x: x.cumsum(1), exact())},
)


@implementation(framework="numpy", semantics="running")
def by_matrix(w: SumsWorkload):
    """A product with a triangle of ones."""
    import numpy as np

    triangle = np.triu(np.ones((w.seq, w.seq), "f4"))
    return lambda x: x @ triangle


@implementation(framework="numpy", semantics="running")
def by_scan(w: SumsWorkload):
    """numpy's cumsum."""
    return lambda x: x.cumsum(1)
