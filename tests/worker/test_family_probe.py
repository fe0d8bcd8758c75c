"""What a family's code says of its semantics, with a family small enough to know every number."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from harness import Array, Family, Semantics, Unsupported, axis, exact, tolerance, within
from harness.worker.family_probe import describe_semantics


@dataclass(frozen=True)
class PairWorkload:
    seq: int = axis()
    rows: int = axis(4)


def shapes(w):
    if w.seq < 8:
        raise Unsupported(f"seq {w.seq} is below 8")
    return {"x": Array((2, w.rows, w.seq), "bf16"), "at": {"b": Array((3,), "i32"), "a": Array((1,), "bool")}}


def inputs(w, rng):
    x = rng.standard_normal((2, w.rows, w.seq)).astype("f4")
    return {"x": x, "at": {"b": np.zeros(3, "i4"), "a": np.zeros(1, bool)}}


def pair(w, rows):
    def largest(x, at):
        chosen = x if rows is None else x[:, rows]
        return {"values": chosen.max(-1), "index": chosen.argmax(-1)}

    return largest


def only_long(w):
    if w.seq < 32:
        raise Unsupported("use seq=32")


MEANING = Semantics("pair", pair, exact(), sentence="the largest", layout="[B, R]")
FAMILY = Family(
    name="pair",
    question="?",
    workload=PairWorkload,
    shapes=shapes,
    inputs=inputs,
    semantics={
        "pair": MEANING,
        "long": replace(MEANING, name="long", contract=within(rel_rms=0.5), refuse=only_long),
    },
    rows=lambda w: w.rows,
)


def shapes_in(told, part):
    return {array["name"]: (array["dtype"], tuple(array["shape"])) for array in told[part]}


def test_inputs_and_result_at_the_first_point_where_it_is_defined():
    points = [{"seq": 4}, {"seq": 16}, {"seq": 32, "rows": 5}]
    one, long = describe_semantics(FAMILY, points)
    assert shapes_in(one, "inputs") == {
        "x": ("bf16", (2, 4, 16)),
        "at.a": ("bool", (1,)),
        "at.b": ("i32", (3,)),
    }
    assert shapes_in(one, "result") == {"index": ("integer", (2, 4)), "values": ("floating", (2, 4))}
    assert (one["point"], one["contract"], one["gradient"], one["layout"]) == (
        points[1],
        "exact",
        None,
        "[B, R]",
    )
    assert (long["point"], long["contract"]) == (points[2], "within: rel rms ≤ 0.5")
    assert shapes_in(long, "result")["values"] == ("floating", (2, 5))


def test_the_whole_answer_counts_where_no_single_row_can_be_had():
    (one, _) = describe_semantics(replace(FAMILY, rows=None), [{"seq": 16, "rows": 7}])
    assert shapes_in(one, "result")["values"] == ("floating", (2, 7))


@pytest.mark.parametrize(
    ("points", "reason"),
    [([], "no suite of bench.yaml"), ([{"seq": 16}], "use seq=32"), ([{"seq": 16}, {"seq": 4}], "below 8")],
)
def test_no_point_is_a_reason(points, reason):
    *_, long = describe_semantics(FAMILY, points)
    assert (long["point"], long["result"]) == (None, [])
    assert reason in long["reason"]


def test_a_reference_that_raises_leaves_the_others_alone():
    broken = replace(MEANING, reference=lambda w, rows: lambda x: 1 / 0)
    both = replace(FAMILY, semantics={"pair": broken, "long": MEANING})
    bad, good = describe_semantics(both, [{"seq": 16}])
    assert bad["reason"] == "ZeroDivisionError: division by zero"
    assert good["result"]


def test_a_tolerance_says_its_bounds_by_dtype():
    held = replace(MEANING, contract=tolerance({"f32": 1e-6, "bf16": 0.02}))
    (one,) = describe_semantics(replace(FAMILY, semantics={"pair": held}), [])
    assert one["contract"] == "tolerance: rel rms ≤ 1e-06 in f32, 0.02 in bf16"
