"""Ctrl-C and SIGKILL at every moment, then --resume: the same cases, none twice, nothing left behind."""

import os
import random
import signal

import pytest

from harness.run.case.case_state import NOT_REACHED
from harness.run.machine.lock import device_lock
from tests.run.fakes import Act, FakeExecutor, FakeWorker, Killed
from tests.run.plans import schedule

SEQS = (1024, 2048, 4096)
CASES = {(f"mask/{name}@rows=4,seq={seq}:fwd:cpu", 0) for seq in SEQS for name in ("broadcast", "scatter")}
ASKS = 96  # of an uninterrupted run, in three equal groups
IN_A_GROUP = ASKS // 3
FIRST_SAMPLE = 11  # the ask of a group that reads the clock first
# Every ask of the middle group, and the ends of those beside it: what is interrupted there is alike.
MOMENTS = [1, FIRST_SAMPLE, *range(IN_A_GROUP, 2 * IN_A_GROUP + 2), ASKS - 1, ASKS]


def sampled_lengths(executor):
    """The lengths at which a clock was read."""
    return {seq for _, seq, verb, _ in executor.asked if verb == "sample"}


def check_whole(execute, done, first, second):
    records = done.folder.read()
    assert records.problems == ()
    assert {record.key[:2] for record in records.records} == CASES
    assert {record.status for record in records.records} == {"ok"}
    assert len(execute.lines()) == len(CASES)
    assert {record.timing.stopped for record in records.records if record.timing} == {"interval"}
    assert {record.key for record in done.records} == {record.key for record in records.records}
    assert first is second or len(sampled_lengths(first) & sampled_lengths(second)) <= 1
    assert first.closed
    assert second.closed
    assert first.living == second.living == []
    assert list(execute.scratch.iterdir()) == []
    assert not done.interrupted
    assert done.folder.info["finished"]


def check_resumed(execute, first, acts=None):
    """The executor of the run that was resumed, and is whole now."""
    second = FakeExecutor(acts)
    check_whole(execute, execute(second, resume=True), first, second)
    return second


def test_an_uninterrupted_run(execute):
    executor = FakeExecutor()
    done = execute(executor)
    assert len(executor.asked) == ASKS
    assert executor.asked[FIRST_SAMPLE - 1][2] == "sample"
    check_whole(execute, done, executor, executor)


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_at_any_ask_then_resume(execute, moment):
    first = FakeExecutor(stop=(moment, KeyboardInterrupt()))
    stopped = execute(first)
    before, within = divmod(moment - 1, IN_A_GROUP)
    assert stopped.interrupted
    assert stopped.folder.info["finished"] is None
    complete = [r for r in stopped.records if r.timing and r.timing.stopped == "interval"]
    assert len(complete) >= 2 * before
    assert len(stopped.records) == 2 * before + 2, "the group that was stopped says so"
    started = [r for r in stopped.records if r.timing and r.timing.stopped == "interrupted"]
    assert within + 1 > FIRST_SAMPLE or not started
    assert len(execute.lines()) == len(stopped.records)
    check_resumed(execute, first)


@pytest.mark.parametrize("moment", MOMENTS)
def test_sigkill_at_any_ask_then_resume(execute, moment):
    first = FakeExecutor(stop=(moment, Killed()))
    execute.until_killed(first)
    assert len(execute.lines()) == 2 * ((moment - 1) // IN_A_GROUP)
    check_resumed(execute, first)


@pytest.mark.parametrize("seed", range(8))
def test_sigkill_while_a_group_is_written_then_resume(execute, seed):
    """The last append is cut at a random byte, as a kill in the middle of it leaves it."""
    dice = random.Random(seed)
    first = FakeExecutor(stop=(dice.randrange(1, 3) * IN_A_GROUP + 1, Killed()))
    execute.until_killed(first)
    (path,) = execute.results.glob("runs/*/records.jsonl")
    written = path.read_bytes()
    begins = len(b"".join(written.splitlines(keepends=True)[:-2]))
    path.write_bytes(written[: dice.randrange(begins, len(written))])
    again = check_resumed(execute, first)
    assert len(sampled_lengths(first) & sampled_lengths(again)) == 1


def test_the_records_of_an_interrupted_group_say_so(execute):
    slow = Act(seconds=0.3)
    executor = FakeExecutor(
        {"broadcast": slow, "scatter": slow}, stop=(FIRST_SAMPLE + 1, KeyboardInterrupt())
    )
    one, other = execute(executor).records
    sampled_lengths, waiting = (one, other) if one.timing else (other, one)
    assert sampled_lengths.timing
    assert (sampled_lengths.status, sampled_lengths.timing.stopped) == ("ok", "interrupted")
    assert sampled_lengths.timing.samples_s == (0.3,)
    assert waiting.status == "skipped"
    assert waiting.reason == NOT_REACHED


def test_a_second_ctrl_c_while_cleaning_up_still_cleans_up(execute, monkeypatch):
    executor = FakeExecutor(stop=(FIRST_SAMPLE + 2, KeyboardInterrupt()))
    close = FakeWorker.close
    impatient = iter([True])

    def close_slowly(worker):
        if executor.stop and len(executor.asked) >= executor.stop[0] and next(impatient, False):
            raise KeyboardInterrupt
        close(worker)

    monkeypatch.setattr(FakeWorker, "close", close_slowly)
    assert execute(executor).interrupted
    assert executor.living == []
    with device_lock("cpu", path=execute.home / "cpu.lock"):
        """It is free."""
    check_resumed(execute, executor)


def test_sigterm_acts_like_ctrl_c(execute):
    def terminate(_):
        os.kill(os.getpid(), signal.SIGTERM)
        return {}

    before = signal.getsignal(signal.SIGTERM)
    done = execute(FakeExecutor({"scatter": Act(verbs={"ready": terminate})}), schedule(seqs=(1024,)))
    assert done.interrupted
    assert len(done.records) == 2
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize("moment", range(1, 15, 3))
def test_resume_completes_a_group_measured_separately(execute, moment):
    acts = {name: Act(planned=600 * 2**20) for name in ("broadcast", "scatter")}
    first = FakeExecutor(acts, stop=(FIRST_SAMPLE + moment, KeyboardInterrupt()))
    execute(first)
    check_resumed(execute, first, acts)
