import pytest

from harness.catalog import analytic_cost
from harness.catalog.analytic_cost import CostQuestion
from harness.core.errors import MachineError

FAMILY = """
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
    module.write_text(FAMILY)
    plain, dense, refused = analytic_cost.costs(
        [
            CostQuestion(str(module), "own", "plain", (("seq", 10), ("width", 3))),
            CostQuestion(str(module), "own", "dense", (("seq", 10),)),
            CostQuestion(str(module), "own", "plain", (("seq", 101),)),
        ]
    )
    assert (plain.flops, plain.bytes, plain.dense_flops) == (30, 40.0, None)
    assert dense.flops == 100
    assert refused == "seq is too long"


def test_many_questions_are_asked_in_portions(tmp_path, monkeypatch):
    module = tmp_path / "own.py"
    module.write_text(FAMILY)
    monkeypatch.setattr(analytic_cost, "AT_ONCE", 2)
    told = analytic_cost.costs([CostQuestion(str(module), "own", "plain", (("seq", n),)) for n in (1, 2, 3)])
    assert [one.flops for one in told] == [2, 4, 6]


def test_a_family_that_breaks_is_named(tmp_path):
    with pytest.raises(MachineError, match="the families' costs are not to be had"):
        analytic_cost.costs([CostQuestion(str(tmp_path / "none.py"), "own", "plain", (("seq", 1),))])
