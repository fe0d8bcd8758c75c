"""A fake torch.cuda with the documented calls: a queue of work, and graphs of it.

Work that is enqueued during a capture runs only at replays, on the same storage.
"""

import itertools
from contextlib import contextmanager
from types import SimpleNamespace

import pytest


class Device:
    """A stream of work; `done` lists completed work, and `now` is a clock that advances by 1 µs per item."""

    def __init__(self):
        self.done, self.now, self.capturing, self.streams = [], 0, None, 0

    def launch(self, name, kernel=lambda: None):
        if self.capturing is not None:
            self.capturing.append((name, kernel))
            return
        kernel()
        self.done.append(name)
        self.now += 1

    def synchronize(self):
        if self.capturing is not None:
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing\nSearch for …")
        self.done.append("synchronize")


@pytest.fixture
def device(monkeypatch):
    torch = pytest.importorskip("torch")
    from harness.worker.frameworks.torch.cuda import l2_buffer

    made = Device()

    class Event:
        def __init__(self, *, enable_timing):
            assert enable_timing

        def record(self):
            made.launch("event", lambda: setattr(self, "at", made.now))

        def elapsed_time(self, other):
            return 1e-3 * (other.at - self.at)

    class CUDAGraph:
        def replay(self):
            for name, kernel in self.work:
                made.launch(name, kernel)

    class Stream:
        def wait_stream(self, other):
            made.done.append("wait")

    @contextmanager
    def capture(graph):
        made.capturing, graph.work = [], None
        try:
            yield
        except RuntimeError:
            raise RuntimeError("CUDA error: operation failed due to a previous error") from None
        finally:
            graph.work, made.capturing = made.capturing, None

    @contextmanager
    def stream(_):
        made.streams += 1
        yield

    for name, value in {
        "Event": Event,
        "CUDAGraph": CUDAGraph,
        "Stream": Stream,
        "graph": capture,
        "stream": stream,
        "current_stream": Stream,
        "synchronize": made.synchronize,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    seconds = itertools.count()  # the host's clock advances by one per reading
    monkeypatch.setattr("harness.worker.frameworks.torch.cuda.perf_counter", lambda: next(seconds))
    empty = torch.empty

    def flush_buffer(*size, device=None, **more):
        if device != "cuda":
            return empty(*size, device=device, **more)
        assert size == (200,)
        return SimpleNamespace(zero_=lambda: made.launch("flush"))

    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(L2_cache_size=100))
    monkeypatch.setattr(torch, "empty", flush_buffer)
    l2_buffer.cache_clear()
    yield made
    l2_buffer.cache_clear()


@pytest.fixture(scope="session")
def trace():
    """Static figures of a function of `x`, `y`, `z` over fake tensors of these shapes."""
    torch = pytest.importorskip("torch")
    from harness.worker.frameworks.base import TraceLimits
    from harness.worker.frameworks.torch.binding import bind as bind_call
    from harness.worker.frameworks.torch.trace import figures

    def read(function, *shapes, mode="fwd", dtype=torch.float32, seconds=10.0, live=1 << 50, owners=False):
        names = tuple("xyz"[: len(shapes)])

        def bind(inputs, cotangent):
            return bind_call(function, names, mode, inputs, cotangent)

        def fake():
            return {n: torch.empty(shape, dtype=dtype) for n, shape in zip(names, shapes, strict=True)}

        with torch.set_grad_enabled(mode != "fwd"):
            return figures(bind, fake, TraceLimits(seconds, live), owners=owners)

    return read
