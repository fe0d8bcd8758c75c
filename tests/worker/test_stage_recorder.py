"""A call with a manual clock, so the time of every stage is exact."""

import pytest

from harness.core.stage import stage
from harness.worker.stage_recorder import StageRecorder


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def recorded(work):
    clock = Clock()

    def spend(seconds):
        clock.now += seconds

    recorder = StageRecorder(clock)
    recorder.run(lambda: work(spend))
    recorder.end()
    return recorder.parts(lambda start, end: end - start), dict(recorder.entered)


def test_stages_in_a_loop_add_up_and_other_time_is_separate():
    def work(spend):
        spend(1)
        for _ in range(3):
            with stage("a"):
                spend(2)
            spend(4)
        with stage("b"):
            spend(8)

    assert recorded(work) == ({"": 13.0, "a": 6.0, "b": 8.0}, {"a": 3, "b": 1})


def test_a_stage_inside_another_has_its_own_time():
    def work(spend):
        with stage("outer"):
            spend(1)
            with stage("inner"):
                spend(2)
            spend(4)

    assert recorded(work)[0] == {"": 0.0, "outer": 5.0, "outer/inner": 2.0}


def test_an_error_closes_its_stages():
    recorder = StageRecorder(Clock())

    def fails():
        with stage("a"), stage("b"):
            raise KeyError

    with pytest.raises(KeyError):
        recorder.run(fails)
    assert recorder.current == ""
    with stage("c"):
        assert recorder.current == "", "recording has ended"
