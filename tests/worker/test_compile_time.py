"""A compiler's time is not charged to the limit of calls, and has a limit of its own."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.core import protocol
from harness.run.processes import worker_process

PLUGIN = Path(__file__).with_name("compiling_plugin.py")
pytestmark = pytest.mark.torch
CALL_SECONDS = 1.0

receive = protocol.receive


@pytest.fixture
def long_compilation(monkeypatch):
    """A clock that moves once, by 100 s, while a worker compiles: no load of the machine counts."""
    clock = SimpleNamespace(now=0.0)

    def receive_later(end):
        message, fds = receive(end)
        if message and message.get("compiling") is False:
            clock.now = 100.0
        return message, fds

    monkeypatch.setattr(protocol, "receive", receive_later)
    monkeypatch.setattr(
        worker_process, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=time.sleep)
    )


def first_call(topk, name):
    return topk.first_call("torch", f"topk/{name}", PLUGIN, CALL_SECONDS, trace_s=0.0)


@pytest.mark.usefixtures("long_compilation")
def test_compiling_may_take_longer_than_a_call(topk):
    assert first_call(topk, "compiles")


def test_what_only_takes_long_is_a_timeout(topk):
    with pytest.raises(worker_process.Ended, match="no answer within 1 s of its own turn; raise --timeout"):
        first_call(topk, "dawdles")


@pytest.mark.usefixtures("long_compilation")
def test_compiling_has_a_limit_of_its_own(topk, monkeypatch):
    monkeypatch.setattr(worker_process, "COMPILE_SECONDS", 1.0)
    with pytest.raises(worker_process.Ended, match="within 1 s of its own turn and 1 s of compiling"):
        first_call(topk, "compiles")
