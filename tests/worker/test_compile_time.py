"""Compile time does not count toward the timeout of calls, and has its own limit."""

import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.core import protocol
from harness.run.processes import worker_process

PLUGIN = Path(__file__).with_name("compiling_plugin.py")
CALL_SECONDS = 1.0

receive = protocol.receive


@pytest.fixture
def long_compilation(monkeypatch):
    """A fake clock that advances by four call timeouts while a worker compiles."""
    clock = SimpleNamespace(now=0.0)

    def receive_later(end):
        message, fds = receive(end)
        if message and message.get("compiling") is False:
            clock.now = 4 * CALL_SECONDS
        return message, fds

    monkeypatch.setattr(protocol, "receive", receive_later)
    monkeypatch.setattr(
        worker_process, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=time.sleep)
    )


@pytest.fixture
def compiling_for_ever(topk, tmp_path, monkeypatch):
    """A jax worker with an endless compilation, during which a fake clock advances by 100 s."""
    plugin = Path(shutil.copy(PLUGIN, tmp_path))

    def now():
        return 100.0 if (tmp_path / "compiles").exists() else 0.0

    monkeypatch.setattr(worker_process, "time", SimpleNamespace(monotonic=now, sleep=time.sleep))
    worker = topk.spawn("jax", "topk/never_compiles", plugin)
    yield worker
    worker.close()


def first_call(topk):
    return topk.first_call("torch", "topk/compiles", PLUGIN, CALL_SECONDS, trace_s=0.0)


@pytest.mark.torch
@pytest.mark.usefixtures("long_compilation")
def test_compiling_may_take_longer_than_a_call(topk):
    assert first_call(topk)


@pytest.mark.torch
@pytest.mark.usefixtures("long_compilation")
def test_compiling_has_its_own_limit(topk, monkeypatch):
    monkeypatch.setattr(worker_process, "COMPILE_TURNS", 1)
    with pytest.raises(worker_process.Ended, match="within 1 s, not counting 1 s of compiling"):
        first_call(topk)


@pytest.mark.jax
def test_a_compiler_that_holds_the_gil_ends_only_its_case(topk, compiling_for_ever):
    with pytest.raises(worker_process.Ended, match=r"not compiled within 60 s; raise --timeout$") as ended:
        compiling_for_ever.ask("prepare", 60, trace_s=1.0)
    assert (ended.value.status, ended.value.alive) == ("timeout", False)
    while compiling_for_ever.fork.exit_code is None:
        compiling_for_ever.server.drain()
    assert compiling_for_ever.fork.exit_code == -9
    other = topk.spawn("numpy", "topk/partition", "impls.topk.exact.partition")
    assert topk.outcome(other)[0] == "ok"
