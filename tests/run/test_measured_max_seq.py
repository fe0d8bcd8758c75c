"""The largest length that runs, searched in a scripted world: which lengths are tried, and what each says."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import MachineError, Unsupported
from harness.core.record import Record
from harness.run.measured_max_seq import UNPROVEN, LengthTrials, measure_max_seq
from harness.run.processes.executor import Ended
from harness.sweep.schedule import Schedule
from tests.run.conftest import Conductor
from tests.run.fakes import MIB, Act, EditedSources, FakeExecutor
from tests.run.plans import SETTINGS, context, group, measure, schedule


def records_of(plan: Schedule, folder: Path) -> list[Record]:
    folder.mkdir()
    return [record for one in plan.groups for record in measure(FakeExecutor(), folder, one).values()]


def search(
    tmp_path: Path, act: Act, reference: Act | None = None, *, names: tuple[str, ...] = ("scatter",)
) -> tuple[dict[str, dict[str, Any]], FakeExecutor]:
    """(what was kept at the end, by implementation; the executor) of a search from 1024 and 2048."""
    plan = schedule(names, (1024, 2048))
    records = records_of(plan, tmp_path / "run")
    executor = FakeExecutor({"scatter": act}, reference)
    kept: list[dict[str, Any]] = []
    trials = LengthTrials(executor, context(executor, tmp_path / "run"))
    measure_max_seq(trials, plan, records, (), lambda fits: kept.__setitem__(slice(None), fits))
    assert executor.living == []
    assert list((tmp_path / "run").iterdir()) == [], "inputs of a try are gone with it"
    return {fit["implementation"].split("/")[1]: fit for fit in kept}, executor


def tried(fit: dict[str, Any]) -> list[tuple[int, bool | None]]:
    return [(trial["seq"], trial["fits"]) for trial in fit["trials"]]


def test_it_doubles_from_what_ran_and_then_bisects_to_a_sixteenth(tmp_path: Path) -> None:
    fits, executor = search(tmp_path, Act(longest=5000))
    fit = fits["scatter"]
    assert (fit["seq"], fit["beyond"], fit["reason"], fit["target"]) == (4864, 5120, None, "cpu")
    lengths = [2048, 4096, 8192, 8192, 6144, 6144, 5120, 5120, 4608, 4864]
    assert tried(fit) == [(length, length <= 5000) for length in lengths], "twice, where it does not fit"
    assert executor.freed == lengths, "the next one would find the memory of the last"
    assert fit["trials"][-1] | {"seq": 0} == {
        "seq": 0,
        "fits": True,
        "reason": None,
        "peak_bytes": 4 * 4864,
        "outside_bytes": MIB,
        "by": "allocator",
    }


def test_every_try_has_inputs_and_a_process_of_its_own(tmp_path: Path) -> None:
    _, executor = search(tmp_path, Act(longest=2048))
    roles = [(job.role, job.case.seq) for job, _ in executor.jobs]
    assert roles[:4] == [("trial", 2048), ("reference", 2048), ("trial", 4096), ("reference", 4096)]
    assert {limit for _, limit in executor.jobs} == {SETTINGS.memory_bytes}
    assert {job.memory_bytes for job, _ in executor.jobs if job.role == "trial"} == {SETTINGS.memory_bytes}


def test_a_failure_by_chance_is_no_answer(tmp_path: Path) -> None:
    count = iter(range(100))

    def once(_: Any) -> Any:
        return Ended("oom", "by chance", alive=True) if next(count) == 1 else {}

    fits, _ = search(tmp_path, Act(longest=5000, verbs={"attempt": once}))
    assert tried(fits["scatter"])[:3] == [(2048, True), (4096, False), (4096, True)]
    assert fits["scatter"]["seq"] == 4864


def test_what_does_not_fit_where_it_ran_is_searched_below(tmp_path: Path) -> None:
    fits, _ = search(tmp_path, Act(longest=700))
    assert (fits["scatter"]["seq"], fits["scatter"]["beyond"]) == (672, 704)


@pytest.mark.parametrize(
    "outcome",
    [Ended("timeout", "no answer within 60 s"), Ended("crashed", "SIGSEGV"), Unsupported("topk ≥ seq")],
    ids=["timeout", "crash", "refusal"],
)
def test_what_says_nothing_of_memory_ends_the_search(tmp_path: Path, outcome: Exception) -> None:
    fits, _ = search(tmp_path, Act(seq={8192: Act(verbs={"attempt": outcome})}))
    fit = fits["scatter"]
    assert (fit["seq"], fit["beyond"], fit["reason"]) == (4096, None, str(outcome))


@pytest.mark.parametrize("end", [Ended("oom", "no room to draw"), MachineError("TMPDIR is full")])
def test_inputs_that_cannot_be_drawn_blame_no_case(tmp_path: Path, end: Exception) -> None:
    fits, _ = search(tmp_path, Act(), Act(seq={4096: Act(verbs={"inputs": end})}))
    fit = fits["scatter"]
    assert (fit["seq"], fit["beyond"]) == (2048, None)
    assert fit["reason"] == f"its inputs cannot be drawn: {end}"


def test_inputs_beyond_the_limit_are_not_drawn(tmp_path: Path) -> None:
    large = Act(input_bytes=SETTINGS.memory_bytes + 1)
    fits, executor = search(tmp_path, Act(longest=2048, seq={4096: large}))
    assert "its inputs alone take" in fits["scatter"]["trials"][1]["reason"]
    assert ("reference", 4096) not in [(job.role, job.case.seq) for job, _ in executor.jobs]


def test_what_has_passed_nowhere_is_not_tried(tmp_path: Path) -> None:
    plan, executor, kept = schedule(["scatter"], (1024,)), FakeExecutor(), list[Any]()
    (tmp_path / "run").mkdir()
    wrong = list(measure(FakeExecutor(wrong=["scatter/1"]), tmp_path / "run", group(["scatter"])).values())
    trials = LengthTrials(executor, context(executor, tmp_path / "run"))
    measure_max_seq(trials, plan, wrong, (), kept.extend)
    assert [(fit["seq"], fit["reason"]) for fit in kept] == [(None, UNPROVEN)]
    assert executor.jobs == []


def test_a_length_of_an_edited_source_is_no_answer(tmp_path: Path) -> None:
    plan, executor, kept = schedule(["scatter"], (1024,)), FakeExecutor(), list[Any]()
    records = records_of(plan, tmp_path / "run")
    edited = context(executor, tmp_path / "run")
    edited.sources = EditedSources()
    measure_max_seq(LengthTrials(executor, edited), plan, records, (), kept.extend)
    assert [(fit["seq"], fit["reason"]) for fit in kept] == [(None, "mask/scatter has changed")]


def test_what_an_earlier_command_has_found_stays(tmp_path: Path) -> None:
    fits, _ = search(tmp_path, Act(longest=5000), names=("broadcast", "scatter"))
    first = fits["broadcast"]
    plan, executor, kept = schedule(("broadcast", "scatter"), (1024, 2048)), FakeExecutor(), list[Any]()
    records = records_of(plan, tmp_path / "again")
    trials = LengthTrials(executor, context(executor, tmp_path / "again"))
    measure_max_seq(trials, plan, records, [first], kept.append)
    assert kept[-1][0] == first
    assert {job.case.implementation for job, _ in executor.jobs} == {"mask/scatter"}


def test_a_run_writes_what_it_finds(conduct: Conductor) -> None:
    done = conduct(FakeExecutor({"scatter": Act(longest=5000)}), max_seq=True)
    found = {fit["implementation"]: (fit["seq"], fit["beyond"]) for fit in done.folder.info["largest"]}
    assert found["mask/scatter"] == (4864, 5120)
    assert not done.interrupted


def test_a_search_that_is_stopped_keeps_what_it_has(conduct: Conductor) -> None:
    stop = Act(seq={8192: Act(verbs={"attempt": KeyboardInterrupt()})}, longest=5000)
    done = conduct(FakeExecutor({"scatter": stop, "broadcast": Act(longest=4096)}), max_seq=True)
    assert done.interrupted
    assert [fit["implementation"] for fit in done.folder.info["largest"]] == ["mask/broadcast"]
    assert all(asdict(record)["timing"] for record in done.records)
