"""A compiler's time is not charged to the limit of calls, and has a limit of its own."""

from pathlib import Path

import pytest

from harness.run.processes import worker_process

PLUGIN = Path(__file__).with_name("compiling_plugin.py")
pytestmark = pytest.mark.torch
CALL_SECONDS = 1.0


def first_call(topk, name):
    return topk.first_call("torch", f"topk/{name}", PLUGIN, CALL_SECONDS, trace_s=0.0)


def test_compiling_may_take_longer_than_a_call(topk):
    assert first_call(topk, "compiles")


def test_what_only_takes_long_is_a_timeout(topk):
    with pytest.raises(worker_process.Ended, match="no answer within 1 s of its own turn; raise --timeout"):
        first_call(topk, "dawdles")


def test_compiling_has_a_limit_of_its_own(topk, monkeypatch):
    monkeypatch.setattr(worker_process, "COMPILE_SECONDS", 1.0)
    with pytest.raises(worker_process.Ended, match="within 1 s of its own turn and 1 s of compiling"):
        first_call(topk, "compiles")
