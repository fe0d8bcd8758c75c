"""The semantics and costs that a family's code returns, with families small enough to know every number."""

from dataclasses import dataclass, replace

import pytest

from harness import Array, Family, Semantics, Unsupported, axis, exact, within
from harness.catalog import family_questions
from harness.catalog.family_questions import CostQuestion
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


def test_a_plugins_family_answers_in_a_separate_process(tmp_path):
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
    with pytest.raises(MachineError, match="the families' costs cannot be computed"):
        family_questions.costs([CostQuestion(str(tmp_path / "none.py"), "own", "plain", (("seq", 1),))])
