"""`sensitivity`: which cases it plans, and what it says of a stored run."""

import pytest

from harness.analysis.results import by_suite
from harness.analysis.sensitivity import sensitivities
from harness.commands.app import app
from harness.commands.exit_codes import STOPPED, call_app
from harness.commands.sensitivity import plan_distributions, sentence
from harness.core.errors import UsageError
from harness.run.runner import RunOutcome
from harness.run.session import Done
from harness.store.runs import RunFolder
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from harness.sweep.schedule import suite_info
from tests.records import PASSED, record_of, timing_of
from tests.report.conftest import info_of
from tests.stores import RUNS, store

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
    with pytest.raises(UsageError, match="one distribution has nothing to differ from; name two, or none"):
        plan_distributions(project, ["some", "scores"], overrides)


def test_sampling_looks_at_the_level_of_what_is_told(project):
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


def test_a_family_that_draws_in_one_way_is_refused(project, tmp_path):
    (tmp_path / "plain.py").write_text(PLAIN)
    one = Project(tmp_path / "bench.yaml", tmp_path / "results", (str(tmp_path / "plain.py"),))
    (tmp_path / "bench.yaml").write_text(BENCH + "  sums: {family: plain, seq: 4Ki, impls: [total]}\n")
    with pytest.raises(UsageError, match="family plain has no workload field distribution with choices"):
        plan_distributions(one, ["sums"], Overrides())


PLAIN = """
from dataclasses import dataclass

import numpy as np

from seqsweep import Array, Family, Semantics, axis, exact, implementation


@dataclass(frozen=True)
class Plain:
    seq: int = axis()


def reference(w, rows):
    return lambda x: x.sum(keepdims=True)


FAMILY = Family(
    name="plain",
    question="?",
    workload=Plain,
    shapes=lambda w: {"x": Array((w.seq,), "f32")},
    inputs=lambda w, rng: {"x": rng.standard_normal(w.seq, dtype=np.float32)},
    semantics={"exact": Semantics("exact", reference, exact())},
)


@implementation(framework="numpy", semantics="exact")
def total(w: Plain):
    return lambda x: x.sum(keepdims=True)
"""


STEADY = [1.0 + 0.001 * (place % 7) for place in range(30)]


def stored(results, *distributions):
    """A run of two implementations, the second twice as fast, on so many distributions."""
    store(
        results,
        RUNS[0],
        [
            record_of(
                name,
                4096,
                workload={"distribution": data},
                timing=timing_of([seconds * s for s in STEADY]),
                correctness=PASSED,
            )
            for data in distributions
            for name, seconds in (("base", 1.0), ("x", 0.5))
        ],
        interleaved="distribution",
    )


def test_a_sweep_that_is_stopped_before_it_has_a_pair_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    folder = RunFolder.create(tmp_path / "results", RUNS[0], {"suites": {}, "depth": "run"})
    done = Done(folder, RunOutcome((), interrupted=True, overhead={}))
    monkeypatch.setattr("harness.commands.run.run_schedule", lambda *_, **__: done)
    (tmp_path / "bench.yaml").write_text(BENCH)
    words = ["sensitivity", "some", "--config", str(tmp_path / "bench.yaml")]
    assert call_app(app, [*words, "--results", str(tmp_path / "results")]) == STOPPED
    said = capsys.readouterr().err
    assert "resume with: " in said
    assert "no suite with two distributions" not in said


STEADY = [1.0 + 0.001 * (place % 7) for place in range(30)]


def record(name, data, seconds=None, seq=4096, **more):
    if seconds:
        more |= {"timing": timing_of([seconds * s for s in STEADY]), "correctness": PASSED}
    return record_of(name, seq, workload={"distribution": data}, **more)


def sentences_of(*records):
    return {one.implementation: sentence(one) for one in sensitivities_of(records)}


def sensitivities_of(records):
    info = info_of(records, "mask/broadcast")
    info["suites"]["mask"]["interleaved"] = "distribution"
    return sensitivities(by_suite(info, records), {})


def against(**seconds):
    """`scatter` at so many seconds on each distribution, where `broadcast` always takes one."""
    return [
        record(*each)
        for data, s in seconds.items()
        for each in (("broadcast", data, 1.0), ("scatter", data, s))
    ]


def test_what_has_no_interval_says_why():
    brief = {"timing": timing_of([1.0] * 3), "correctness": PASSED}
    few = [record("broadcast", data, **brief) for data in ("iid", "tied")]
    assert "(needs ≥ 6 rounds; has 3)" in sentences_of(*few)["mask/broadcast"]


def test_what_has_no_time_on_two_distributions_says_so():
    failed = [record(name, "tied", status="crashed", reason="why") for name in ("broadcast", "scatter")]
    for said in sentences_of(*against(iid=0.5), *failed).values():
        assert said.endswith("is not timed on two distributions of one length, iid and another")
