"""The rounds of a profile: as many as an interval needs, and a reason if there are none."""

import dataclasses

import pytest

from harness.core.errors import Unsupported
from harness.core.median_interval import samples_needed
from harness.run.group.profiling import MOST_ROUNDS
from harness.run.group.run_context import ProfileExtras
from harness.run.processes.executor import Ended
from tests.run.fakes import Act, FakeExecutor
from tests.run.plans import context, group, measure


def profiled(tmp_path, **acts):
    executor = FakeExecutor(acts)
    return measure(executor, tmp_path, depth="profile"), executor


def test_a_profile_follows_the_samples_of_every_case(tmp_path):
    records, executor = profiled(tmp_path)
    for record in records.values():
        assert record.timing is not None
        assert record.profile is not None
        assert [stage.stage for stage in record.profile.stages] == ["", "work"]
        assert len(record.profile.plain_s) == MOST_ROUNDS
    verbs = executor.verbs("scatter")
    assert verbs.index("profile") > max(i for i, verb in enumerate(verbs) if verb == "sample")
    assert verbs[-1] == "count_stages"


def test_long_case_gets_rounds_for_an_interval_beyond_its_budget(tmp_path):
    records, _ = profiled(tmp_path, scatter=Act(seconds=3.0))
    assert records["scatter"].profile is not None
    assert len(records["scatter"].profile.plain_s) == samples_needed()


def test_timings_remain_if_a_framework_cannot_be_profiled(tmp_path):
    refuses = Act(
        verbs={"profile": {"refused": "one program; profile another", "stages": {}, "plain_s": 0.0}}
    )
    record = profiled(tmp_path, scatter=refuses)[0]["scatter"]
    assert (record.status, record.profile) == ("ok", None)
    assert record.timing is not None
    assert "not profiled: one program; profile another" in record.timing.warnings


def test_a_stage_that_a_round_does_not_enter_took_no_time_there(tmp_path):
    nothing = {"": (1e-3, 1, 0.0)}
    answers = iter([{**nothing, "rare": (2e-3, 1, 3e-3)}, *[nothing] * MOST_ROUNDS])
    act = Act(verbs={"profile": lambda _: {"stages": next(answers)}})
    profile = profiled(tmp_path, scatter=act)[0]["scatter"].profile
    assert profile is not None
    rare = next(stage for stage in profile.stages if stage.stage == "rare")
    assert rare.samples_s[0] == 2e-3
    assert set(rare.samples_s[1:]) == {0.0}
    assert (rare.beside_s[0], {*rare.beside_s[1:]}) == (3e-3, {0.0})
    assert rare.operators is None, "it was not counted"
    assert [stage.beside_s for stage in profile.stages if not stage.stage] == [()], "it ran beside no other"


def with_extras(tmp_path, extras, **acts):
    folder = tmp_path / "scratch"
    folder.mkdir()
    executor = FakeExecutor(acts)
    shared = context(executor, folder, depth="profile")
    shared.extras = extras
    return measure(executor, folder, group(["scatter"]), shared=shared)


def test_operators_and_trace_are_recorded_on_request(tmp_path):
    file = tmp_path / "made" / "call.json"
    profile = with_extras(tmp_path, ProfileExtras(operators=True, trace=file))["scatter"].profile
    assert profile is not None
    assert [(each.operator, each.seconds) for each in profile.operators] == [("mm", 1e-3)]
    assert file.read_text() == "scatter"


CUDA = dataclasses.replace(
    group(), cases=tuple(dataclasses.replace(case, device="cuda") for case in group().cases), baselines={}
)


def test_the_kernels_of_a_case_are_named_after_its_samples(tmp_path):
    executor = FakeExecutor()
    records = measure(executor, tmp_path, CUDA)
    assert records["scatter"].kernels_run == (("fill", 1), ("scatter", 2))
    verbs = executor.verbs("scatter")
    assert verbs.index("kernels") > max(place for place, verb in enumerate(verbs) if verb == "sample")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"kernels": [], "refused": "CUPTI is denied"}, "CUPTI is denied"),
        (Unsupported("no profiler"), "no profiler"),
        (Ended("crashed", "killed by SIGSEGV"), "killed by SIGSEGV"),
        (Ended("timeout", "no reply within 60 s"), "no reply within 60 s"),
    ],
)
def test_failing_profiler_keeps_the_figures_of_a_case(tmp_path, answer, why):
    record = measure(FakeExecutor({"scatter": Act(verbs={"kernels": answer})}), tmp_path, CUDA)["scatter"]
    assert (record.status, record.kernels_run, record.kernels_unknown) == ("ok", (), why)
    assert record.timing is not None
