"""The order of a run, and its events for a listener."""

import dataclasses

import pytest

from harness.core.errors import MachineError, UsageError
from harness.run.group.run_context import ProfileExtras
from harness.run.processes.executor import Ended
from harness.run.runner import run
from tests.run.conftest import FACTS
from tests.run.fakes import Act, FakeExecutor, Heard, Killed
from tests.run.plans import SETTINGS, case, catalog, context, schedule


class Kept:
    """A sink that remembers every write."""

    def __init__(self):
        self.writes = []

    def append(self, records):
        self.writes.append(list(records))

    @property
    def records(self):
        return [record for write in self.writes for record in write]


def test_groups_in_order_each_written_before_the_next_begins(tmp_path):
    heard, kept, executor = Heard(), Kept(), FakeExecutor()
    outcome = run(schedule(replicates=2), context(executor, tmp_path, listener=heard), kept)
    assert (outcome.groups, outcome.interrupted) == (6, False)
    assert [(w[0].seq, w[0].replicate) for w in kept.writes] == [
        (seq, replicate) for seq in (1024, 2048, 4096) for replicate in (0, 1)
    ]
    assert [len(write) for write in kept.writes] == [2] * 6
    steps = [event for event in heard.events if event[0] in {"started", "finished"}]
    assert [event[0] for event in steps] == ["started", "finished"] * 6
    assert [event[1] for event in steps[::2]] == list(range(6))
    assert steps[0][3] is None
    assert steps[-1][2] == 0


def test_a_fingerprint_is_of_the_device_and_the_threads_of_a_group(tmp_path):
    kept = Kept()
    whole = schedule(skips=[("threshold", 2048)])
    other = dataclasses.replace(whole.groups[1], settings=dataclasses.replace(SETTINGS, threads=2))
    whole = dataclasses.replace(whole, groups=(whole.groups[0], other, *whole.groups[2:]))
    shared = context(FakeExecutor(), tmp_path)
    run(whole, shared, kept, fingerprints={("cpu", count): f"cpu {count}" for count in (1, 2)})
    named = [{record.fingerprint for record in write} for write in kept.writes]
    assert named == [{"cpu 1"}, {"cpu 1"}, {"cpu 2"}, {"cpu 1"}]


def again(**changed):
    """The same command, but for what is named here."""

    def resume(execute):
        return execute(FakeExecutor(), resume=True, **changed)

    return resume


def edited(name):
    """A schedule with another source of an implementation."""
    whole = schedule()
    infos = {
        **whole.implementations,
        f"mask/{name}": catalog(**{name: "sha256:other"}).implementation(f"mask/{name}"),
    }
    return dataclasses.replace(whole, implementations=infos)


def with_settings(**changed):
    return again(schedule=schedule(settings=dataclasses.replace(SETTINGS, **changed)))


REFUSALS = {
    "it differs in suites.mask.axes.seq ([1024, 2048, 4096] then, [1024] now), suites.mask.cases": again(
        schedule=schedule(seqs=(1024,))
    ),
    "it differs in suites.mask.settings.budget_s (4.0 then, 1.0 now)": with_settings(budget_s=1.0),
    "it differs in replicates (1 then, 2 now)": again(schedule=schedule(replicates=2)),
    "it differs in extras (None then, ['--ops'] now)": again(extras=ProfileExtras(operators=True)),
    "it differs in sources.mask/scatter (sha256:scatter then, sha256:other now)": again(
        schedule=edited("scatter")
    ),
    "this machine differs in cpu (EPYC then, Xeon now)": again(facts={**FACTS, "cpu": "Xeon"}),
    "this machine differs in versions.jax (0.10.2 then, 0.11.0 now)": again(
        facts={**FACTS, "versions": {"jax": "0.11.0"}}
    ),
    "this machine differs in gpu (None then, H200 now)": again(facts={**FACTS, "gpu": "H200"}),
}


@pytest.mark.parametrize("difference", REFUSALS)
def test_a_run_that_differs_is_refused_by_what_differs(execute, difference):
    execute.until_killed(FakeExecutor(stop=(48, Killed())))
    (folder,) = execute.results.glob("runs/*")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(UsageError) as refused:
        REFUSALS[difference](execute)
    assert str(refused.value) == (
        f"--resume: run {folder.name} cannot be continued: {difference}; start a new one without --resume"
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before, "nothing was changed in it"


def test_without_a_run_of_these_suites_there_is_nothing_to_resume(execute):
    execute(FakeExecutor(), depth="check")
    with pytest.raises(UsageError, match=r"--resume: no run of mask is stored in .*results; start a new one"):
        execute(FakeExecutor(), resume=True)


def test_a_newer_run_that_cannot_be_read_is_passed_over(execute):
    execute.until_killed(FakeExecutor(stop=(38, Killed())))
    (begun,) = execute.results.glob("runs/*")
    newer = begun.with_name("99990101T000000Z-0000000")
    newer.mkdir()
    (newer / "records.jsonl").touch()
    assert execute(FakeExecutor(), resume=True).folder.id == begun.name


def test_resuming_a_complete_run_reports_it(execute):
    first = execute(FakeExecutor())
    info, records = first.folder.info, first.records
    executor = FakeExecutor()
    executor.clock.tick = 1.0
    second = execute(executor, resume=True)
    assert executor.asked == []
    assert second.folder.id == first.folder.id
    assert second.records == records
    assert not second.interrupted
    assert execute.heard.messages() == [f"run {first.folder.id} is complete: nothing is left to measure"]
    assert second.folder.info == info


def test_a_run_that_was_killed_after_its_last_group_is_finished_by_resume(execute):
    done = execute(FakeExecutor())
    records = done.records
    done.folder.update_info(finished=None, overhead=None)
    again = execute(FakeExecutor(), resume=True)
    assert again.folder.info["finished"]
    assert again.records == records


def test_resuming_says_how_much_is_left(execute):
    first = execute(FakeExecutor(stop=(38, KeyboardInterrupt())))
    execute(FakeExecutor(), resume=True)
    assert execute.heard.messages() == [
        f"continuing run {first.folder.id}: 2 cases are finished, 2 groups remain"
    ]
    assert [event[1] for event in execute.heard.events if event[0] == "started"] == [1, 2]


def test_overhead_of_two_sessions_adds_up(execute):
    before = execute(FakeExecutor(stop=(38, KeyboardInterrupt()))).folder.info["overhead"]
    executor = FakeExecutor()
    second = execute(executor, resume=True)
    total = second.folder.info["overhead"]
    assert total["wall_s"] == pytest.approx(before["wall_s"] + executor.clock.now, abs=2e-3)
    assert total["work_s"] == pytest.approx(
        sum(total[f"{name}_s"] for name in ("compile", "warmup", "contract", "samples")), abs=2e-3
    )
    assert total["share"] == pytest.approx(total["work_s"] / total["wall_s"], abs=1e-3)
    parts = {value for name, value in total.items() if name not in {"wall_s", "work_s", "share"}}
    assert sum(parts) == pytest.approx(total["wall_s"], abs=1e-2)
    assert second.folder.info["overhead"] == total


def test_a_resumed_run_predicts_and_infers_from_what_is_stored(execute):
    slow = Act(seconds=lambda seq: 0.6 * (seq / 1024) ** 2)
    starved = Act(seq={2048: Act(verbs={"check": Ended("oom", "it took too much; raise --memory")})})
    doomed = Act(seq={4096: Act(verbs={"prepare": Killed()})})
    names = ("broadcast", "scatter", "threshold")
    acts = {"broadcast": slow, "scatter": starved}
    execute.until_killed(FakeExecutor({**acts, "threshold": doomed}), schedule(names))
    assert len(execute.lines()) == 6
    done = execute(FakeExecutor(acts), schedule(names), resume=True)
    reasons = {record.case: record.reason or "" for record in done.records}
    assert "predicted 9.6 s a call" in reasons[case("broadcast", 4096).id]
    assert "inferred from the oom at seq 2Ki" in reasons[case("scatter", 4096).id]
    assert reasons[case("threshold", 4096).id] == ""


@pytest.mark.parametrize("compiling", [True, False])
def test_a_resumed_run_knows_whether_compiling_failed_or_running(execute, compiling):
    verb = "prepare" if compiling else "check"
    hung = Act(seq={1024: Act(verbs={verb: Ended("timeout", "no answer; raise --timeout")})})
    doomed = Act(seq={2048: Act(verbs={"prepare": Killed()})})
    execute.until_killed(FakeExecutor({"broadcast": doomed, "scatter": hung}))
    executor = FakeExecutor({"scatter": hung})
    done = execute(executor, resume=True)
    reasons = {record.case: record.reason or "" for record in done.records}
    assert ("of compiling" in reasons[case("scatter", 4096).id]) is compiling
    assert ("prepare" in executor.verbs("scatter")) is not compiling


def test_a_plan_too_large_says_nothing_about_larger_lengths(execute):
    """A longer length may be tiled, so its plan is always requested."""
    huge = Act(seq={1024: Act(planned=2000 * 2**20)})
    doomed = Act(seq={2048: Act(verbs={"prepare": Killed()})})
    execute.until_killed(FakeExecutor({"broadcast": doomed, "scatter": huge}))
    done = execute(FakeExecutor({"scatter": huge}), resume=True)
    statuses = {record.case: record.status for record in done.records}
    assert [statuses[case("scatter", seq).id] for seq in (1024, 2048, 4096)] == ["oom", "ok", "ok"]


@pytest.mark.parametrize("seqs", [(1024,), ()])
def test_cases_the_schedule_knows_to_be_impossible_are_stored_once(execute, seqs):
    whole = schedule(seqs=seqs, skips=(("threshold", 1024),))
    execute(FakeExecutor(stop=(5, KeyboardInterrupt())), whole)
    done = execute(FakeExecutor(), whole, resume=True)
    assert len(execute.lines()) == 1 + 2 * len(seqs)
    (skipped,) = (record for record in done.records if record.status == "unsupported")
    assert skipped.reason == "mask has no such mode; use another"


def test_one_benchmark_per_device(execute):
    def second(_):
        with pytest.raises(MachineError, match=r'device cpu is in use by process \d+ \("seqsweep run"\)'):
            execute(FakeExecutor())
        return {}

    executor = FakeExecutor({"scatter": Act(verbs={"ready": second})})
    assert execute(executor, schedule(seqs=(1024,))).records


def test_check_needs_no_lock_and_times_nothing(execute):
    executor = FakeExecutor()
    done = execute(executor, depth="check")
    assert not (execute.home / "cpu.lock").exists()
    assert executor.turns() == []
    assert all(one.correctness.passed and one.timing is None for one in done.records)


ONE, OTHER = case("broadcast").id, case("scatter").id
