"""A trace happens beside the case: what it keeps, breaks or leaves behind never meets the clock."""

from pathlib import Path

import pytest

from harness.catalog.loading import load

PLUGIN = Path(__file__).parent / "tracing_plugin.py"
UNAVAILABLE = load(str(PLUGIN)).UNAVAILABLE
pytestmark = pytest.mark.torch


@pytest.mark.parametrize("name", UNAVAILABLE)
def test_a_failed_trace_costs_its_figures_only(topk, name):
    worker = topk.spawn("torch", f"topk/{name}", PLUGIN)
    prepared, verdict = topk.evidence(worker)
    worker.close()
    reason = prepared["static"]["unavailable"].get("temp_bytes")
    assert (reason or "").startswith(UNAVAILABLE[name] or "")
    assert (reason is None) == (UNAVAILABLE[name] is None)
    assert verdict["correctness"]["passed"], verdict["reason"]


def test_what_a_trace_made_is_not_kept(topk):
    assert topk.outcome(topk.spawn("torch", "topk/keeps", PLUGIN)) == ("ok", "")
