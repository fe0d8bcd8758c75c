"""What a gate says of cases whose authors state themselves how close they come."""

from types import SimpleNamespace

from harness.catalog.catalog import Catalog, ImplementationInfo
from harness.core.case import Case
from harness.gate.plan import GatePlan
from harness.gate.timed.paired_case import BASE, CANDIDATE


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
