"""Both sides of a gate compile at once, and stop together."""

from threading import Event

import pytest

from harness.run.group.compilation import run_concurrently


def fail():
    raise KeyboardInterrupt
    yield


@pytest.mark.parametrize("last", [False, True])
def test_after_a_failure_other_threads_end_after_their_step(last):
    steps = iter(range(10**7))
    works = [steps, fail()] if last else [fail(), steps]
    with pytest.raises(KeyboardInterrupt):
        run_concurrently(works)
    assert next(steps, None) is not None


def test_failure_ends_a_long_step_of_another_thread():
    ended = Event()
    with pytest.raises(KeyboardInterrupt):
        run_concurrently([(ended.wait() for _ in "a"), fail()], ended.set)
