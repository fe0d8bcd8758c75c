"""jax's GPU clock, with made-up traces in the format of XLA's profiler, and a fake profiler."""

import itertools
import weakref
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

jax = pytest.importorskip("jax")

from harness.core.errors import Unsupported  # noqa: E402 - the modules import jax
from harness.worker.frameworks import base as frameworks  # noqa: E402
from harness.worker.frameworks.jax import device_clock  # noqa: E402
from harness.worker.frameworks.jax.device_clock import (  # noqa: E402
    FLUSH,
    DeviceClock,
    calls_after_flushes,
)
from tests.worker.frameworks.xla_trace import ALLOCATION, COPY, FILL, Event, trace  # noqa: E402

pytestmark = pytest.mark.jax


def flush(start, length=50):
    return Event("loop_add_fusion", start, length, FLUSH)


def calls(*events, count=1, **more):
    return calls_after_flushes(trace(*events, **more), FLUSH, count)


OTHER, OWN = "Stream #15(Kernel)", "CUPTI overhead"
A = Event("a", 60, 10, "jit_f")
TRACES = {
    "from the first kernel to the end of the last; those of a command buffer carry no module": (
        [flush(0), Event("gemm", 60, 100, "jit_f"), Event("max", 170, 30), Event("gemm", 210, 90, "jit_f")],
        [(("gemm", "max", "gemm"), 240)],
    ),
    "calls are told apart by the flush between them, in whatever order they are stored": (
        [Event("b", 170, 20, "jit_f"), flush(100), A, flush(0)],
        [(("a",), 10), (("b",), 20)],
    ),
    "streams overlap, and copies and fills count, but allocations do not": (
        [
            *(flush(0), Event("Memset", 60, 10, "jit_f", FILL), Event("gemm", 80, 100, "jit_f")),
            Event("MemcpyD2D", 100, 200, "jit_f", COPY, "Stream #15(MemcpyD2D)"),
            Event("MemoryAlloc", 400, 500, "jit_f", ALLOCATION),
        ],
        [(("Memset", "gemm", "MemcpyD2D"), 240)],
    ),
    "a kernel that starts with the flush is of the call after it": (
        [flush(0), A, Event("b", 100, 20, "jit_f", stream=OTHER), flush(100), Event("c", 170, 0, "jit_f")],
        [(("a",), 10), (("b", "c"), 20)],
    ),
    "a call that runs nothing has no time": ([flush(0), flush(100)], [((), 0), ((), 0)]),
}  # fmt: skip


@pytest.mark.parametrize(("events", "found"), TRACES.values(), ids=TRACES)
def test_calls_are_read_from_a_trace(events, found):
    read = calls(*events, count=len(found))
    assert [(call.kernels, round(call.seconds * 1e9)) for call in read] == found


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"count": 3}, "reported 2 of 3 flushes"),
        ({"count": 1}, "reported 2 of 1 flushes"),
        ({"count": 2, "device": "/device:CUSTOM:0"}, "reported 0 of 2 flushes"),
        ({"count": 3, "errors": "CUPTI need root access!"}, r"\(CUPTI need root access!\)"),
        ({"count": 2, "warnings": "Detected GPU events dropped on host"}, "events dropped"),
    ],
)
def test_an_incomplete_trace_is_refused_with_the_profilers_message(more, why):
    with pytest.raises(RuntimeError, match=why):
        calls(flush(0), flush(100), **more)


class Gpu:
    """A fake GPU with one stream. A session of its profiler returns the work during the session."""

    def __init__(self):
        self.now, self.ran, self.open, self.refusal, self.lost = 1000, [], False, None, 0

    def run(self, name, length, module="jit_f"):
        self.ran.append(Event(name, self.now, length, module))
        self.now += length + 10

    @contextmanager
    def profiler(self):
        if self.refusal:
            raise RuntimeError(self.refusal)
        assert not self.open, "one session at a time"
        self.open, self.ran = True, []
        traces = []
        try:
            yield traces
        finally:
            traces.append(trace(*self.ran[self.lost :]))
            self.open = False


@pytest.fixture
def gpu(monkeypatch):
    made, seconds = Gpu(), itertools.count()
    monkeypatch.setattr(device_clock, "_profiler", made.profiler)
    monkeypatch.setattr(device_clock, "perf_counter", lambda: next(seconds))
    monkeypatch.setattr(device_clock, "LARGEST_L2", 512)
    monkeypatch.setattr(DeviceClock, "flush", lambda _: made.run("loop_add_fusion", 50, FLUSH))
    return made


@pytest.fixture
def clock(gpu):
    return DeviceClock(jax.devices("cpu")[0])


def test_all_samples_of_a_turn_are_in_one_trace(gpu, clock):
    a, b = (lambda length=length: gpu.run("k", length) for length in (100, 300))
    assert clock.read([a, b, a], 2) == pytest.approx([200e-9, 600e-9, 200e-9])
    assert [event.name for event in gpu.ran] == ["loop_add_fusion", "k"] * 6
    assert not gpu.open


def test_a_result_is_freed_before_the_next_call(gpu, clock):
    results = []

    class Result:
        pass

    def call():
        gpu.run("k", 1)
        assert not any(result() for result in results)
        made = Result()
        results.append(weakref.ref(made))
        return made

    clock.read([call, call], 2)
    assert len(results) == 4


def test_fetching_a_result_is_not_timed(gpu, clock):
    kept = []

    def keep(result):
        kept.append(result)
        gpu.run("MemcpyD2H", 5000, "")

    def call():
        gpu.run("k", 100)
        return len(gpu.ran)

    assert clock.read([call, call], 1, keep) == pytest.approx([100e-9, 100e-9])
    assert len(kept) == 1


def test_a_call_without_device_work_has_no_time(clock):
    with pytest.raises(RuntimeError, match="ran nothing on the device"):
        clock.read([lambda: None], 1)


def test_device_time_above_host_time_is_refused(gpu, clock):
    with pytest.raises(RuntimeError, match=r"reports 5\.00 s for calls that took 1\.00 s"):
        clock.read([lambda: gpu.run("k", 5_000_000_000)], 1)


@pytest.fixture
def framework():
    made = type(frameworks.get("jax"))()
    made.device = SimpleNamespace(platform="gpu")
    return made


def test_a_gpu_is_timed_by_its_own_clock(framework, gpu, monkeypatch):
    monkeypatch.setattr(framework, "device", jax.devices("cpu")[0])
    clock = framework.device_clock
    framework.device = SimpleNamespace(platform="gpu")
    timer = framework.timer()
    assert (timer.method, timer.cache, timer.reason) == ("cupti", "flushed", "")
    assert timer.read == clock.read
    assert framework.kernels(lambda: gpu.run("k", 1)) == ("k",)


@pytest.mark.parametrize(
    ("refusal", "lost", "why"),
    [
        ("CUPTI need root access!", 0, "including launch overhead: CUPTI need root access!; allow profiling"),
        (None, 9, "including launch overhead: jax's profiler reported 0 of 2 flushes of the L2 cache"),
    ],
)
def test_without_profiler_events_the_host_clock_is_used_with_a_reason(framework, gpu, refusal, lost, why):
    gpu.refusal, gpu.lost = refusal, lost
    framework.device = jax.devices("cpu")[0]
    assert why in framework.device_clock
    framework.device = SimpleNamespace(platform="gpu")
    timer = framework.timer()
    assert (timer.method, timer.cache, timer.reason) == ("wall", "rotated", framework.device_clock)
    with pytest.raises(Unsupported, match="timed by the host's clock"):
        framework.kernels(lambda: None)


SESSIONS = """
import jax
from harness.worker.frameworks.jax.device_clock import _profiler

for again in range(2):
    with _profiler() as traces:
        jax.block_until_ready(jax.numpy.ones(3) + 1)
    for trace in traces:
        planes = jax.profiler.ProfileData.from_serialized_xspace(trace).planes
        assert "Task Environment" in [plane.name for plane in planes]
    try:
        with _profiler() as traces:
            raise ValueError("mine")
    except ValueError:
        print(len(traces))
"""


def test_jaxs_profiler_session_can_be_opened_twice(printed):
    """Test jax's private profiler session on the host; without it, the host's clock is used."""
    assert printed(SESSIONS) == ["1", "1"]


def test_the_flush_writes_every_byte_in_place_under_its_trace_name():
    buffer = jax.numpy.zeros(64, jax.numpy.uint8)
    compiled = jax.jit(device_clock.seqsweep_flush_l2, donate_argnums=0).lower(buffer).compile()
    assert compiled.runtime_executable().hlo_modules()[0].name == FLUSH
    assert set(compiled(buffer).tolist()) == {1}
    assert buffer.is_deleted()
