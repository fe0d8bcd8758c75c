"""Traces whose every interval is known."""

import pytest

from harness.worker.trace_times import OperatorRun, busy_s, times_by_stage

S = 1e9  # nanoseconds
STAGES = {"dot": "a", "add": "b", "both": "a + b", "copy": "", "loop": "a"}


def runs(*intervals):
    return [OperatorRun(start * S, end * S, name) for start, end, name in intervals]


@pytest.mark.parametrize(
    ("intervals", "seconds"),
    [
        ([(0, 2, "dot"), (2, 3, "add"), (5, 6, "dot")], {"a": (3, 0), "b": (1, 0)}),
        ([(0, 4, "dot"), (1, 2, "dot")], {"a": (4, 0)}),
        ([(0, 3, "dot"), (2, 5, "add")], {"a": (2.5, 0.5), "b": (2.5, 0.5)}),
        ([(0, 3, "dot"), (0, 3, "add"), (0, 3, "dot")], {"a": (2, 1), "b": (1, 2)}),
        ([(0, 1, "both"), (1, 2, "copy")], {"a + b": (1, 0), "": (1, 0)}),
        ([(0, 2, "both"), (1, 2, "dot")], {"a + b": (1.5, 0.5), "a": (0.5, 0.5)}),
        ([(0, 3, "copy"), (1, 2, "add")], {"": (2, 0), "b": (1, 0)}),
        ([(0, 5, "loop"), (1, 2, "add"), (3, 4, "copy")], {"a": (3, 0), "b": (1, 0), "": (1, 0)}),
        ([(0, 1, "unheard-of")], {"": (1, 0)}),
        ([], {}),
    ],
)
def test_every_instant_is_shared_by_the_operators_that_run(intervals, seconds):
    found = times_by_stage(runs(*intervals), STAGES, {"loop"})
    assert {stage: pytest.approx(time) for stage, time in found.items()} == seconds


def test_busy_time_counts_no_instant_twice():
    assert busy_s(runs((0, 3, "dot"), (1, 2, "add"), (2, 4, "add"), (6, 7, "dot"))) == 5.0
