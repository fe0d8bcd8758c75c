"""Plan of a gate: options, threads and margins of the selected suites, and its printed lines."""

from types import SimpleNamespace

import pytest

from harness.catalog.catalog import Catalog, ImplementationInfo
from harness.core.case import Case
from harness.core.errors import UsageError
from harness.gate.options import GateOptions, parse_budget
from harness.gate.output import plan_lines
from harness.gate.plan import GatePlan, limit_threads, plan_of_candidate
from harness.gate.timed.paired_case import BASE, CANDIDATE
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from tests.goldens import assert_golden


def info(name, **bounds):
    fields = dict.fromkeys(("framework", "semantics", "sentence", "module", "file", "hash"), "")
    return ImplementationInfo(id=name, options=(), expects=None, line=1, bounds=bounds, **fields)


def case(name, mode="fwd"):
    return Case.of(name, {}, {"seq": 8}, mode, "cpu")


def plan(counterparts, mine, theirs):
    sides = {CANDIDATE: mine, BASE: theirs}
    sides = {s: SimpleNamespace(catalog=Catalog({}, {i.id: i for i in infos})) for s, infos in sides.items()}
    return GatePlan(SimpleNamespace(), sides, counterparts)


def test_a_case_has_the_stated_bounds_of_both_sides():
    near, far = info("f/a", fwd="rel rms ≤ 0.02", bwd="none"), info("f/a", fwd="rel rms ≤ 0.5")
    gate = plan({case("f/a"): case("f/a")}, [near], [far])
    notes = [f"f/a: its author's bound: rel rms ≤ {bound}" for bound in (0.02, 0.5)]
    assert list(gate.bound_notes(case("f/a"))) == notes


def test_a_base_of_another_implementation_has_its_bounds():
    infos = [info("f/a"), info("f/b", fwd="recall ≥ 0.9")]
    gate = plan({case("f/a"): case("f/b")}, infos, infos)
    assert gate.bound_notes(case("f/a")) == ("f/b: its author's bound: recall ≥ 0.9",)


def test_invalid_options_are_refused():
    assert parse_budget("2min") == 120.0
    for says, wrong in (
        ("--inconclusive maybe: write warn or fail", lambda: GateOptions(inconclusive="maybe")),
        ("--max-pairs 3: a verdict needs at least 4 pairs", lambda: GateOptions(max_pairs=3)),
        *(("--budget", lambda text=text: parse_budget(text)) for text in ("0", "-1s", "soon")),
    ):
        with pytest.raises(UsageError, match=says):
            wrong()


BENCH = """\
default: [strict, lax]
defaults: {defaults}
suites:
  strict: {{family: mask, seq: 64, rows: 1, impls: [scatter], threads: 2, delta: 2%}}
  lax: {{family: topk, seq: 64, topk: 8, rows: 1, impls: [exact], delta: 20%}}
"""


@pytest.mark.parametrize(
    ("defaults", "typed", "pattern", "deltas", "threads"),
    [
        ("{}", {}, "topk/*", {"lax": 0.2}, 1),
        ("{}", {}, "mask/*", {"strict": 0.02}, 2),
        ("{threads: 3}", {}, "topk/*", {"lax": 0.2}, 3),
        ("{}", {"threads": "3", "seed": "1"}, "topk/*", {"lax": 0.2}, 3),
    ],
)
def test_margin_and_threads_are_those_of_selected_suites(tmp_path, defaults, typed, pattern, deltas, threads):
    """One thread, unless the defaults, the command or a selected suite sets another number."""
    (tmp_path / "bench.yaml").write_text(BENCH.format(defaults=defaults))
    project = Project(tmp_path / "bench.yaml")
    options = limit_threads(GateOptions(cases=(pattern,), overrides=Overrides(settings=typed)), project)
    plan = plan_of_candidate(project, options)
    assert plan.deltas == deltas
    settings = plan.schedule.groups[0].settings
    assert (settings.threads, settings.seed) == (threads, int(typed.get("seed", 0)))


DATA = {
    "base": "git:3d602ab (HEAD~1)", "measured": ["m/a@seq=1:fwd:cpu"], "deltas": {"m": 0.05},
    "same_code": ["m/b@seq=1:fwd:cpu"], "new": {"m/c@seq=1:fwd:cpu": "not registered in the base"},
    "vanished": [], "left_out": {}, "seconds_at_most": 300.0, "pairs_at_most": 12,
}  # fmt: skip


def test_the_lines_of_a_plan():
    plans = [DATA, {**DATA, "measured": []}, {**DATA, "deltas": {}, "seconds_at_most": None}]
    assert_golden("gate_plans.txt", "\n\n".join("\n".join(plan_lines(data)) for data in plans) + "\n")
