"""Times of jax's stages from made-up traces, and its allocator's memory."""

from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("jax")

from harness.worker.frameworks.jax import framework as jax_framework
from harness.worker.frameworks.jax.trace import OperatorRun, busy_s, times_by_stage

pytestmark = pytest.mark.jax
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
def test_concurrent_operators_share_time_equally(intervals, seconds):
    found = times_by_stage(runs(*intervals), STAGES, {"loop"})
    assert {stage: pytest.approx((time.seconds, time.overlapped)) for stage, time in found.items()} == seconds


def test_busy_time_counts_overlap_once():
    assert busy_s(runs((0, 3, "dot"), (1, 2, "add"), (2, 4, "add"), (6, 7, "dot"))) == 5.0


@st.composite
def any_runs(draw):
    """Runs in any order: simultaneous, empty, nested, overlapping, and with ends before starts."""
    times = st.integers(0, 6)
    names = st.sampled_from([*STAGES, "unheard-of"])
    return draw(st.lists(st.builds(OperatorRun, times, times, names), max_size=8))


@given(any_runs())
@example([OperatorRun(3, 3, "dot")])
@example([OperatorRun(3, 3, "dot"), OperatorRun(0, 3, "dot"), OperatorRun(3, 5, "dot")])
@example([OperatorRun(4, 2, "dot"), OperatorRun(0, 6, "loop")])
@example([OperatorRun(0, 5, "dot")] * 3)
def test_stages_share_the_busy_time_of_any_trace(runs):
    found = times_by_stage(runs, STAGES, {"loop"})
    assert all(time.seconds >= 0 and time.overlapped >= 0 for time in found.values())
    assert sum(time.seconds for time in found.values()) == pytest.approx(busy_s(runs))


def test_time_outside_all_stages_is_never_negative(monkeypatch):
    monkeypatch.setattr(jax_framework, "trace_call", lambda call, sync: (4e-9, [OperatorRun(0, 5, "dot")]))
    program = SimpleNamespace(staged=SimpleNamespace(stages=STAGES, containers=set()))
    times = jax_framework.Jax().time_stages(lambda: None, SimpleNamespace(program=program))
    assert {stage: span.seconds for stage, span in times.items()} == {"a": pytest.approx(5e-9), "": 0.0}


@pytest.mark.parametrize(
    ("before", "after", "rise"),
    [
        ((300, 400), (350, 1000), 700),
        ((300, 5000), (300, 5000), None),  # hidden by a higher earlier peak
        (None, None, None),
    ],
)
def test_memory_is_the_allocators_peak_growth(before, after, rise):
    names = ("bytes_in_use", "peak_bytes_in_use")
    stats = iter([each and dict(zip(names, each, strict=True)) for each in (before, after)])
    made = jax_framework.Jax()
    made.device = SimpleNamespace(platform="gpu", memory_stats=lambda: next(stats))
    assert made.track_peak()() == rise
