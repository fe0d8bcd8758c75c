"""Buffer breakdown of torch's peaks: storages with source lines, against hand counts and the allocator."""

import inspect
from functools import partial

import pytest

pytestmark = pytest.mark.torch
N = 1 << 20


@pytest.fixture
def owned(trace):
    return partial(trace, owners=True)


def line_of(function, offset):
    return f"tests/worker/frameworks/torch/test_storages.py:{inspect.getsourcelines(function)[1] + offset}"


def rows(owners):
    return [(each.kind, each.operator or each.name, each.bytes, each.source) for each in owners.owners]


def test_the_peaks_storages_have_their_source_lines(owned):
    def function(x):
        one = x + 1
        two = one * 2
        return two.sum()

    static = owned(function, (N,))
    owners = static.owners
    assert (owners.exact, owners.peak_bytes, owners.gap_bytes) == (True, static.planned_bytes, 0)
    assert sorted(rows(owners)) == [
        ("argument", "x", 4 * N, ""),
        ("output", "sum", 4, line_of(function, 3)),
        ("temp", "add", 4 * N, line_of(function, 1)),
        ("temp", "mul", 4 * N, line_of(function, 2)),
    ]
    (warning,) = static.warnings
    assert "allocate internally" in warning
    assert owned(function, (N,), owners=False).owners is None


def test_saved_storages_have_the_forwards_source_line(owned):
    def function(x):
        bent = x.exp()
        return bent.sin()

    whole = owned(function, (N,), mode="fwd_bwd").owners
    assert whole.exact
    saved = [(each.operator, each.source) for each in whole.owners if each.kind == "saved"]
    assert ("exp", line_of(function, 1)) in saved
    backward = [each for each in whole.owners if each.operator in {"cos", "mul"}]
    assert {each.source for each in backward} <= {line_of(function, 1), line_of(function, 2)}
    assert backward
    assert ("argument", "cotangent") in [(each.kind, each.name) for each in whole.owners]
    pullback = owned(function, (N,), mode="bwd").owners
    assert pullback.exact
    assert ("saved", "exp", 4 * N, line_of(function, 1)) in rows(pullback)


def test_the_peak_equals_the_allocators(owned):
    torch = pytest.importorskip("torch")
    from torch.profiler import ProfilerActivity, profile

    def function(x):
        square = x.view(1024, 1024)
        scores = square @ square.T
        return (torch.softmax(scores, -1) @ square + scores.cumsum(-1)).relu()

    owners = owned(function, (N,)).owners
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        function(torch.ones(N))
    events = [event for event in profiled.profiler.kineto_results.events() if event.name() == "[memory]"]
    now = highest = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        highest = max(highest, now)
    assert owners.peak_bytes == pytest.approx(highest, rel=0.02)
