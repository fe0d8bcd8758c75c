"""A family whose inputs leave a file behind when they are drawn."""

import os
from dataclasses import dataclass
from pathlib import Path

from seqsweep import Array, Family, Semantics, Workload, axis, exact, implementation


@dataclass(frozen=True)
class SumsWorkload(Workload):
    seq: int = axis()


def inputs(w, rng):
    Path(os.environ["DRAWN"]).touch()
    return {"x": rng.integers(0, 8, (2, w.seq)).astype("f4")}


FAMILY = Family(
    name="sums",
    question="?",
    workload=SumsWorkload,
    shapes=lambda w: {"x": Array((2, w.seq), "f32")},
    inputs=inputs,
    semantics={"running": Semantics("running", lambda w, rows: lambda x: x.cumsum(1), exact())},
)


@implementation(framework="numpy", semantics="running")
def scan(w: SumsWorkload):
    return lambda x: x.cumsum(1)
