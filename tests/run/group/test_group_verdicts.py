"""Contract before clock: who is judged, when, and what a failing judge does to whom."""

from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import Unsupported
from harness.run.processes.executor import Ended
from tests.run.fakes import Act, FakeExecutor
from tests.run.plans import context, group, measure, reason, timing, verdict


def test_contract_before_clock(tmp_path: Path) -> None:
    executor = FakeExecutor()
    measure(executor, tmp_path)
    verbs = [verb for *_, verb, _ in executor.asked]
    before = verbs[: verbs.index("sample")]
    last_verdict = max(index for index, verb in enumerate(before) if verb == "judge")
    assert before.count("judge") == before.count("check") == 2
    assert verbs.index("inputs") < verbs.index("reference") < verbs.index("check") < last_verdict
    assert last_verdict < verbs.index("ready") < verbs.index("sample")


def test_the_reference_is_computed_once_per_semantics(tmp_path: Path) -> None:
    executor = FakeExecutor()
    measure(executor, tmp_path, group(["broadcast", "scatter", "threshold"]))
    assert executor.verbs("reference").count("reference") == 1
    assert executor.verbs("reference").count("inputs") == 1


def test_an_incorrect_case_is_not_timed(tmp_path: Path) -> None:
    executor = FakeExecutor(wrong=["scatter/1"])
    found = measure(executor, tmp_path)["scatter"]
    assert (found.status, found.reason) == ("incorrect", "3 elements differ")
    assert found.unexpected
    assert found.timing is None
    assert not verdict(found).passed
    assert "sample" not in executor.verbs("scatter")


def test_an_expected_failure_says_so_and_is_not_unexpected(tmp_path: Path) -> None:
    executor = FakeExecutor({"scatter": Act(expected="#2522's first text")}, wrong=["scatter/1"])
    found = measure(executor, tmp_path)["scatter"]
    assert found.status == "incorrect"
    assert found.expected
    assert found.reason == "3 elements differ; expected: #2522's first text"
    assert not found.unexpected


def test_an_expected_failure_that_passes_is_unexpected_and_not_timed(tmp_path: Path) -> None:
    executor = FakeExecutor({"scatter": Act(expected="a claim")})
    found = measure(executor, tmp_path)["scatter"]
    assert found.status == "ok"
    assert found.unexpected
    assert found.reason == "expected to be incorrect (a claim), but its contract passed"
    assert found.timing is None


def test_a_changed_input_is_incorrect_although_the_answer_is_right(tmp_path: Path) -> None:
    executor = FakeExecutor({"scatter": Act(verbs={"check": {"changed": "scores"}})})
    found = measure(executor, tmp_path)["scatter"]
    assert found.status == "incorrect"
    assert found.reason == 'it changes its input "scores", which the next call gets'
    assert not verdict(found).passed


def test_an_answer_that_changes_after_sampling_is_incorrect(tmp_path: Path) -> None:
    found = measure(FakeExecutor(wrong=["scatter/2"]), tmp_path)
    assert found["scatter"].status == "incorrect"
    assert found["scatter"].reason == (
        "its answer depends on earlier calls: it passed before the clock and failed after (3 elements differ)"
    )
    assert found["scatter"].timing is None
    assert found["broadcast"].status == "ok"


def test_an_input_changed_by_a_later_call_is_incorrect(tmp_path: Path) -> None:
    executor = FakeExecutor({"scatter": Act(verbs={"recheck": {"changed": "scores"}})})
    found = measure(executor, tmp_path)["scatter"]
    assert (found.status, found.timing) == ("incorrect", None)
    assert 'it changes its input "scores"' in reason(found)


def test_an_incorrect_baseline_erases_nothing(tmp_path: Path) -> None:
    found = measure(FakeExecutor(wrong=["broadcast/1"]), tmp_path)
    assert found["broadcast"].status == "incorrect"
    assert timing(found["scatter"]).stopped == "interval"


def test_a_result_that_cannot_be_judged_is_that_cases_crash(tmp_path: Path) -> None:
    ragged = Ended("crashed", "ValueError: ragged", alive=True)

    def judge(arguments: dict[str, Any]) -> Any:
        return ragged if arguments["result"] == "scatter/1" else {}

    found = measure(FakeExecutor(reference=Act(verbs={"judge": judge})), tmp_path)
    assert found["scatter"].status == "crashed"
    assert found["scatter"].reason == "the verdict on its result cannot be computed: ValueError: ragged"
    assert found["broadcast"].status == "ok"


@pytest.mark.parametrize("verb", ["inputs", "reference"])
@pytest.mark.parametrize("status", ["oom", "timeout"])
def test_a_desk_out_of_memory_or_time_says_nothing_about_the_cases(
    tmp_path: Path, verb: str, status: str
) -> None:
    executor = FakeExecutor(reference=Act(verbs={verb: Ended(status, "raise --memory")}))
    shared = context(executor, tmp_path)
    found = measure(executor, tmp_path, shared=shared)
    assert {record.status for record in found.values()} == {"skipped"}
    assert all(f"({status}: raise --memory)" in reason(record) for record in found.values())
    assert shared.prediction.stops == {}
    assert executor.turns() == []


@pytest.mark.parametrize("verb", ["inputs", "reference"])
def test_a_family_that_raises_is_a_crash_with_its_name(tmp_path: Path, verb: str) -> None:
    executor = FakeExecutor(reference=Act(verbs={verb: Ended("crashed", "ValueError: bad", alive=True)}))
    found = measure(executor, tmp_path)
    assert {record.status for record in found.values()} == {"crashed"}
    assert "of family mask cannot be computed: ValueError: bad" in reason(found["scatter"])


def test_a_workload_that_the_family_refuses_is_unsupported(tmp_path: Path) -> None:
    executor = FakeExecutor(reference=Act(verbs={"inputs": Unsupported("topk ≥ seq")}))
    found = measure(executor, tmp_path)
    assert {(record.status, record.reason) for record in found.values()} == {("unsupported", "topk ≥ seq")}


def test_a_desk_that_cannot_be_started(tmp_path: Path) -> None:
    executor = FakeExecutor(reference=Act(spawn=Unsupported("torch cannot be imported; pip install torch")))
    found = measure(executor, tmp_path)
    assert {record.status for record in found.values()} == {"unsupported"}


def test_a_judge_that_dies_is_not_asked_again(tmp_path: Path) -> None:
    died = Ended("crashed", "killed by SIGSEGV")
    executor = FakeExecutor(reference=Act(verbs={"judge": died}))
    found = measure(executor, tmp_path)
    assert executor.verbs("reference").count("judge") == 1
    assert reason(found["broadcast"]).endswith("killed by SIGSEGV")
    assert reason(found["scatter"]).endswith("the process that judges this group had died")
    assert {record.status for record in found.values()} == {"crashed"}


def test_a_judge_that_dies_after_sampling_leaves_the_others_their_timing(tmp_path: Path) -> None:
    def judge(arguments: dict[str, Any]) -> Any:
        return Ended("crashed", "killed by SIGSEGV") if arguments["result"] == "broadcast/2" else {}

    found = measure(FakeExecutor(reference=Act(verbs={"judge": judge})), tmp_path)
    assert found["broadcast"].status == "crashed"
    assert found["scatter"].status == "ok"
    assert timing(found["scatter"]).warnings == (
        "its answer was not checked again after sampling: the judge had died",
    )


def test_what_a_case_leaves_running_is_a_warning(tmp_path: Path) -> None:
    left = {"threads": ["leaky"], "processes": ["sleep (7)"], "shared_memory": ["1.00 GiB of it (x)"]}
    executor = FakeExecutor({"scatter": Act(verbs={"finish": left})})
    assert timing(measure(executor, tmp_path)["scatter"]).warnings == (
        'it left "leaky" running; end it before returning',
        'it left "sleep (7)" running; end it before returning',
        "it left 1.00 GiB of it (x); unlink it before returning",
    )
