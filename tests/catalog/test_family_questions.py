"""What a family's code says of its semantics and costs, with families small enough to know every number."""

from dataclasses import dataclass, replace

import pytest

from harness import Array, Family, Semantics, Unsupported, axis, exact, tolerance, within
from harness.catalog import family_questions
from harness.catalog.family_questions import CostQuestion, describe_semantics
from harness.core.errors import MachineError


@dataclass(frozen=True)
class PairWorkload:
    seq: int = axis()
    rows: int = axis(4)


def shapes(w):
    if w.seq < 8:
        raise Unsupported(f"seq {w.seq} is below 8")
    return {"x": Array((2, w.rows, w.seq), "bf16"), "at": {"b": Array((3,), "i32"), "a": Array((1,), "bool")}}


def nothing_is_drawn(*_):
    raise AssertionError


def only_long(w):
    if w.seq < 32:
        raise Unsupported("use seq=32")


MEANING = Semantics("pair", nothing_is_drawn, exact(), sentence="the largest", layout="[B, R]")
FAMILY = Family(
    name="pair",
    question="?",
    workload=PairWorkload,
    shapes=shapes,
    inputs=nothing_is_drawn,
    semantics={
        "pair": MEANING,
        "long": replace(MEANING, name="long", contract=within(rel_rms=0.5), refuse=only_long),
    },
    rows=lambda w: w.rows,
)


def inputs_of(described):
    return {array["name"]: (array["dtype"], array["shape"]) for array in described["inputs"]}


def test_inputs_at_the_first_point_where_it_is_defined():
    points = [{"seq": 4}, {"seq": 16}, {"seq": 32, "rows": 5}]
    one, long = describe_semantics(FAMILY, points)
    assert inputs_of(one) == {
        "x": ("bf16", (2, 4, 16)),
        "at.a": ("bool", (1,)),
        "at.b": ("i32", (3,)),
    }
    assert (one["point"], one["contract"], one["gradient"], one["layout"]) == (
        points[1],
        "exact",
        None,
        "[B, R]",
    )
    assert (long["point"], long["contract"]) == (points[2], "within: rel rms ≤ 0.5")
    assert inputs_of(long)["x"] == ("bf16", (2, 5, 32))


@pytest.mark.parametrize(
    ("points", "reason"),
    [([], "no suite of bench.yaml"), ([{"seq": 16}], "use seq=32"), ([{"seq": 16}, {"seq": 4}], "below 8")],
)
def test_no_point_is_a_reason(points, reason):
    *_, long = describe_semantics(FAMILY, points)
    assert (long["point"], long["inputs"]) == (None, [])
    assert reason in long["reason"]


def test_a_refusal_that_fails_leaves_the_others_alone():
    broken = replace(MEANING, refuse=lambda w: 1 / 0)
    both = replace(FAMILY, semantics={"pair": broken, "long": replace(MEANING, name="long")})
    bad, good = describe_semantics(both, [{"seq": 16}])
    assert bad["reason"] == "ZeroDivisionError: division by zero"
    assert good["inputs"]


def test_a_tolerance_says_its_bounds_by_dtype():
    held = replace(MEANING, contract=tolerance({"f32": 1e-6, "bf16": 0.02}))
    (one,) = describe_semantics(replace(FAMILY, semantics={"pair": held}), [])
    assert one["contract"] == "tolerance: rel rms ≤ 1e-06 in f32, 0.02 in bf16"


OWN = """
from dataclasses import dataclass

from harness import Array, Cost, Family, Semantics, Unsupported, axis, exact


@dataclass(frozen=True)
class Work:
    seq: int = axis()
    width: int = axis(2)


def shapes(w):
    if w.seq > 100:
        raise Unsupported("seq is too long")
    return {"x": Array((w.seq,), "f32")}


FAMILY = Family(
    name="own",
    question="?",
    workload=Work,
    shapes=shapes,
    inputs=lambda w, rng: {},
    semantics={
        "plain": Semantics("plain", lambda w, rows: None, exact()),
        "dense": Semantics("dense", lambda w, rows: None, exact(), cost=lambda w: Cost(flops=w.seq**2)),
    },
    cost=lambda w: Cost(flops=w.seq * w.width, bytes=4.0 * w.seq),
)
"""


def test_a_plugins_family_answers_from_its_own_process(tmp_path):
    module = tmp_path / "own.py"
    module.write_text(OWN)
    plain, dense, refused = family_questions.costs(
        [
            CostQuestion(str(module), "own", "plain", (("seq", 10), ("width", 3))),
            CostQuestion(str(module), "own", "dense", (("seq", 10),)),
            CostQuestion(str(module), "own", "plain", (("seq", 101),)),
        ]
    )
    assert (plain.flops, plain.bytes, plain.dense_flops) == (30, 40.0, None)
    assert dense.flops == 100
    assert refused == "seq is too long"


def test_a_family_that_breaks_is_named(tmp_path):
    with pytest.raises(MachineError, match="the families' costs are not to be had"):
        family_questions.costs([CostQuestion(str(tmp_path / "none.py"), "own", "plain", (("seq", 1),))])
