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
        ([(0, 2, "dot"), (2, 3, "add"), (5, 6, "dot")], {"a": 3, "b": 1}),
        ([(0, 4, "dot"), (1, 2, "dot")], {"a": 4}),
        ([(0, 3, "dot"), (2, 5, "add")], {"a": 2, "a + b": 1, "b": 2}),
        ([(0, 1, "both"), (1, 2, "copy")], {"a + b": 1, "": 1}),
        ([(0, 3, "copy"), (1, 2, "add")], {"": 2, "b": 1}),
        ([(0, 5, "loop"), (1, 2, "add"), (3, 4, "copy")], {"a": 3, "b": 1, "": 1}),
        ([(0, 1, "unheard-of")], {"": 1}),
        ([], {}),
    ],
)
def test_every_instant_is_of_the_stages_whose_operators_run(intervals, seconds):
    assert times_by_stage(runs(*intervals), STAGES, {"loop"}) == seconds


def test_busy_time_counts_no_instant_twice():
    assert busy_s(runs((0, 3, "dot"), (1, 2, "add"), (2, 4, "add"), (6, 7, "dot"))) == 5.0
