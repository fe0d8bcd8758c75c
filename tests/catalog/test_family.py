"""What a family's functions give, held to what they have to give."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from harness import Array, Cost, Family, Semantics, Workload, axis, exact
from harness.core.errors import UsageError


@dataclass(frozen=True)
class Points(Workload):
    seq: int = axis()


FAMILY = Family(
    "points",
    "?",
    Points,
    lambda w: {"x": Array((w.seq,), "f32"), "weights": {"up": Array((2, 2), "f32")}},
    lambda w, rng: {},
    {"same": Semantics("same", lambda w, rows: lambda x: x, exact())},
)


@pytest.mark.parametrize("shapes", [None, {"x": (4, 4)}, {"x": {"up": 4}}, [Array((4,), "f32")]])
def test_shapes_that_describe_no_arrays_are_refused(shapes):
    with pytest.raises(UsageError, match=r"shapes\(w\) of family points gives .*; return {name: Array"):
        replace(FAMILY, shapes=lambda w: shapes).shapes_of("same", Points(seq=4))


def test_a_cost_in_numpys_numbers_is_one_in_pythons():
    cost = replace(FAMILY, cost=lambda w: Cost(np.int64(4), np.float32(2), 10**40)).cost_of(
        "same", Points(seq=4)
    )
    assert [(type(value), value) for value in (cost.flops, cost.bytes, cost.dense_flops)] == [
        (int, 4),
        (float, 2.0),
        (float, 1e40),
    ]


def test_what_is_no_cost_is_refused():
    with pytest.raises(UsageError, match=r"cost\(w\) of family points gives int; return a Cost"):
        replace(FAMILY, cost=lambda w: 4).cost_of("same", Points(seq=4))
