"""Both sides of a gate compile at once, and stop together."""

from threading import Event

import pytest

from harness.run.group.compilation import run_concurrently


def fail():
    raise KeyboardInterrupt
    yield


@pytest.mark.parametrize("last", [False, True])
def test_where_one_fails_the_others_end_with_the_step_at_hand(last):
    steps = iter(range(10**7))
    works = [steps, fail()] if last else [fail(), steps]
    with pytest.raises(KeyboardInterrupt):
        run_concurrently(works)
    assert next(steps, None) is not None


def test_a_long_step_is_made_to_end_where_another_fails():
    ended = Event()
    with pytest.raises(KeyboardInterrupt):
        run_concurrently([(ended.wait() for _ in "a"), fail()], ended.set)
