"""What a gate says of cases whose authors state themselves how close they come."""

from types import SimpleNamespace

import pytest

from harness.catalog.catalog import Catalog, ImplementationInfo
from harness.core.case import Case
from harness.gate.plan import GatePlan, plan_lines
from harness.gate.timed.paired_case import BASE, CANDIDATE
from harness.sweep.settings import Settings


def info(name, **bounds):
    fields = dict.fromkeys(("framework", "semantics", "sentence", "module", "file", "hash"), "")
    return ImplementationInfo(id=name, options=(), expects=None, line=1, bounds=bounds, **fields)


def case(name, mode="fwd"):
    return Case.of(name, {}, {"seq": 8}, mode, "cpu")


def plan(opponents, mine, theirs):
    sides = {CANDIDATE: mine, BASE: theirs}
    sides = {s: SimpleNamespace(catalog=Catalog({}, {i.id: i for i in infos})) for s, infos in sides.items()}
    return GatePlan(SimpleNamespace(), Catalog(), sides, opponents)


def test_both_sides_bounds_stand_beside_a_case():
    near, far = info("f/a", fwd="rel rms ≤ 0.02", bwd="none"), info("f/a", fwd="rel rms ≤ 0.5")
    gate = plan({case("f/a"): case("f/a")}, [near], [far])
    said = [f"f/a: its author's bound: rel rms ≤ {bound}" for bound in (0.02, 0.5)]
    assert list(gate.bound_notes(case("f/a"))) == said


def test_another_implementation_as_the_base_brings_its_own():
    infos = [info("f/a"), info("f/b", fwd="recall ≥ 0.9")]
    gate = plan({case("f/a"): case("f/b")}, infos, infos)
    assert gate.bound_notes(case("f/a")) == ("f/b: its author's bound: recall ≥ 0.9",)


DATA = {
    "base": "git:3d602ab (HEAD~1)", "missing": "", "measured": ["m/a@seq=1:fwd:cpu"],
    "same_code": ["m/b@seq=1:fwd:cpu"], "new": {"m/c@seq=1:fwd:cpu": "not registered in the base"},
    "vanished": [], "left_out": {}, "seconds_at_most": 300.0, "pairs_at_most": 12,
    "settings": {"m": Settings(budget_s=2.0, memory_bytes=2**30, threads=1)}, "deltas": {"m": 0.05},
}  # fmt: skip


def test_every_kind_has_its_heading_and_its_cases():
    lines = plan_lines(DATA)
    assert lines[0] == "the working tree against git:3d602ab (HEAD~1)"
    assert lines[2:4] == ["measured: 1", "  m/a@seq=1:fwd:cpu"]
    assert "same code on both sides, not measured (--all measures them): 1" in lines
    assert not any("vanished" in line for line in lines)
    assert lines[-2].startswith(
        "m: Δ 5 %, budget 2.00 s, timeout 60.0 s, memory 1.00 GiB, threads 1, precision"
    )
    assert lines[-1] == "at most 300 s (--budget) and 12 pairs of processes (--max-pairs)"


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({"measured": []}, "nothing would be measured"),
        ({"seconds_at_most": None}, "no clock: the time is that of compiling both sides once"),
    ],
)
def test_the_last_line_is_the_time(changes, end):
    assert plan_lines({**DATA, **changes})[-1] == end
