"""What a run would do, without doing it."""

from pathlib import Path

import pytest

from harness.run import dry_run as module
from harness.run.dry_run import PlannedCase, dry_run
from harness.run.processes.executor import Ended
from tests.run.fakes import MIB, Act, FakeExecutor, Heard
from tests.run.plans import SETTINGS, case, catalog, schedule


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeExecutor:
    found = FakeExecutor()
    found.folder = tmp_path
    monkeypatch.setattr(module, "Processes", lambda *_: found)
    return found


def test_every_case_is_compiled_and_none_is_run(executor: FakeExecutor) -> None:
    whole = schedule(seqs=(1024,), skips=(("threshold", 2048),))
    known = {case("broadcast").id: 1.25}
    assert dry_run(whole, catalog(), known, Heard()) == [
        PlannedCase(case("threshold", 2048).id, None, None, None, "mask has no such mode; use another"),
        PlannedCase(case("broadcast").id, MIB, True, 1.25, None),
        PlannedCase(case("scatter").id, MIB, True, SETTINGS.budget_s, None),
    ]
    assert {verb for *_, verb, _ in executor.asked} == {"prepare"}
    assert executor.living == []


def test_what_does_not_fit_would_not_run(executor: FakeExecutor) -> None:
    executor.acts = {"scatter": Act(planned=2000 * MIB)}
    row = dry_run(schedule(seqs=(1024,)), catalog(), {}, Heard())[1]
    assert (row.planned_bytes, row.fits, row.seconds) == (2000 * MIB, False, None)
    assert row.skip
    assert row.skip.startswith("the compiler plans 1.95 GiB; the limit is 1000 MiB")


def test_what_does_not_compile_would_not_run(executor: FakeExecutor) -> None:
    executor.acts = {"scatter": Act(verbs={"prepare": Ended("crashed", "ValueError: no", alive=True)})}
    row = dry_run(schedule(seqs=(1024,)), catalog(), {}, Heard())[1]
    assert (row.skip, row.seconds) == ("ValueError: no", None)


def test_ctrl_c_ends_every_process(executor: FakeExecutor) -> None:
    executor.stop = (2, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        dry_run(schedule(), catalog(), {}, Heard())
    assert executor.living == []
