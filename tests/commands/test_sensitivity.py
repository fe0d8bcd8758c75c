"""`sensitivity`: the cases that it plans, and its output for a stored run."""

import pytest

from harness.commands.app import app
from harness.commands.exit_codes import STOPPED, call_app
from harness.commands.sensitivity import plan_distributions
from harness.core.errors import UsageError
from harness.run.runner import RunOutcome
from harness.run.session import Done
from harness.store.runs import RunFolder
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from harness.sweep.schedule import suite_info
from tests.stores import RUNS

BENCH = """
suites:
  scores: {family: topk, seq: [4Ki, 8Ki], topk: 64, impls: [exact, partition]}
  some: {family: topk, seq: 4Ki, topk: 64, distribution: [iid, tied], impls: [exact, partition]}
  rows: {family: offsets, seq: 4Ki, impls: [mask_quadratic, bincount]}
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "bench.yaml").write_text(BENCH)
    return Project(tmp_path / "bench.yaml", tmp_path / "results")


def distributions(schedule):
    return {suite.name: list(suite.axes["distribution"]) for suite in schedule.suites}


def test_a_suite_is_planned_over_all_distributions_unless_it_lists_some(project):
    schedule = plan_distributions(project, ["scores", "some", "rows"], Overrides())
    everything = project.catalog.family("topk").field("distribution").choices
    assert distributions(schedule) == {
        "scores": list(everything),
        "some": ["iid", "tied"],
        "rows": ["iid", "unpadded", "padded", "long_run", "zeros"],
    }


def test_one_distribution_is_refused_before_anything_is_measured(project):
    overrides = Overrides(fields={"distribution": ("tied",)})
    with pytest.raises(UsageError, match="only one distribution is selected; name two, or none"):
        plan_distributions(project, ["some", "scores"], overrides)


def test_sampling_uses_the_joint_confidence_level_of_the_reported_ratios(project):
    schedule = plan_distributions(project, ["some"], Overrides())
    # Two implementations at one length, a ratio each: two intervals share 5 %.
    assert all(group.confidence == pytest.approx(1 - 0.05 / 2) for group in schedule.groups)


def test_all_distributions_of_a_length_are_one_group_and_each_keeps_its_own_baseline(project):
    schedule = plan_distributions(project, ["scores"], Overrides(fields={"distribution": ("iid", "tied")}))
    assert [group.cases[0].seq for group in schedule.groups] == [4096, 8192]
    for group in schedule.groups:
        assert {dict(case.workload).get("distribution", "iid") for case in group.cases} == {"iid", "tied"}
        assert [c.implementation for c in group.cases] == ["topk/exact", "topk/partition"] * 2
        assert all(group.baselines[c.id] == (f"topk/exact{c.id[c.id.index('@') :]}",) for c in group.cases)
    assert suite_info(schedule)["scores"]["interleaved"] == "distribution"


def test_a_sweep_stopped_before_its_first_pair_says_how_to_resume(tmp_path, monkeypatch, capsys):
    folder = RunFolder.create(tmp_path / "results", RUNS[0], {"suites": {}, "depth": "run"})
    done = Done(folder, RunOutcome((), interrupted=True, overhead={}))
    monkeypatch.setattr("harness.commands.run.run_schedule", lambda *_, **__: done)
    (tmp_path / "bench.yaml").write_text(BENCH)
    words = ["sensitivity", "some", "--config", str(tmp_path / "bench.yaml")]
    assert call_app(app, [*words, "--results", str(tmp_path / "results")]) == STOPPED
    said = capsys.readouterr().err
    assert "resume with: " in said
    assert "no suite with two distributions" not in said
