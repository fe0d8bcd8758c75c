"""Traces run in a separate process, so their side effects do not affect timed calls."""

from pathlib import Path

import pytest

from harness.catalog.loading import load

PLUGIN = Path(__file__).parent / "tracing_plugin.py"
UNAVAILABLE = load(str(PLUGIN)).UNAVAILABLE
pytestmark = pytest.mark.torch


@pytest.mark.parametrize("name", UNAVAILABLE)
def test_a_failed_trace_loses_only_its_figures(topk, name):
    worker = topk.spawn("torch", f"topk/{name}", PLUGIN)
    prepared, verdict = topk.evidence(worker)
    worker.close()
    reason = prepared["static"]["unavailable"].get("temp_bytes")
    assert (reason or "").startswith(UNAVAILABLE[name] or "")
    assert (reason is None) == (UNAVAILABLE[name] is None)
    assert verdict["correctness"]["passed"], verdict["reason"]


def test_objects_cached_in_a_trace_are_not_used_later(topk):
    assert topk.outcome(topk.spawn("torch", "topk/keeps", PLUGIN)) == ("ok", "")
