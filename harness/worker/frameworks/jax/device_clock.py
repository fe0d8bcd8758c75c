"""Device time of jax calls on a GPU, from the profiler's events of several calls in one trace.

Starting and stopping the profiler takes longer than most calls, so one trace contains all samples of a turn.
Each call follows a flush of the L2 cache. The flush's name in the trace separates the calls.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.profiler import ProfileData

from harness.worker.timers import Calls, Keep, refuse_above_host
from harness.xla.protobuf import inside

DEVICE, STREAMS = "/device:GPU:", ("Stream #", "CUPTI overhead")
# The statistic of each kind of event. Allocations and the profiler's overhead have others.
WORK = frozenset(("kernel_details", "memcpy_details", "memset_details"))
MODULE = "hlo_module"
ERRORS, WARNINGS = 2, 3  # fields of XSpace (xplane.proto) that ProfileData omits
EXACT_NS = 1 << 53  # times are floats, which represent every nanosecond up to here
LARGEST_L2 = 128 << 20  # bytes: more than any GPU had by 2026 (126 MiB: B200)
PROBES = 2


class DeviceEvent(NamedTuple):
    """One kernel, copy or fill, in nanoseconds of the trace's clock."""

    start_ns: float
    end_ns: float
    name: str
    module: str  # the XLA program that launched it; empty if unknown


class CallOnDevice(NamedTuple):
    """Work between one flush and the next."""

    seconds: float  # from the start of the first event to the end of the last; 0 where nothing ran
    kernels: tuple[str, ...]  # their names in order of their starts


def calls_after_flushes(trace: bytes, flush: str, count: int) -> list[CallOnDevice]:
    """The `count` calls of a trace. Each follows a program named `flush`.

    The layout is that of xla/backends/profiler/gpu/cupti_collector.cc (jax 0.10 to 0.12). A plane
    `/device:GPU:0` has a line for each stream: `Stream #14(Kernel,MemcpyD2D)`, or `CUPTI overhead` if the
    profiler's own work is also on it. Other lines of the plane are sums of these events or counters.

    Raises RuntimeError, with the profiler's message, if the calls cannot be separated.
    """
    messages = [text.decode(errors="replace") for text in inside([trace], ERRORS) + inside([trace], WARNINGS)]
    why = f" ({messages[0].strip()})" if messages else ""
    events = device_events(ProfileData.from_serialized_xspace(trace), flush)
    flushes = [place for place, event in enumerate(events) if event.module == flush]
    if any("dropped" in text for text in messages) or len(flushes) != count:
        raise RuntimeError(
            f"jax's profiler reported {len(flushes)} of {count} flushes of the L2 cache on the device{why}"
        )
    bounds = [*flushes, len(events)]
    return [_call(events[first], events[first + 1 : last]) for first, last in pairwise(bounds)]


def device_events(data: Any, flush: str) -> list[DeviceEvent]:
    """The events on all streams of the GPU that ran the program `flush`, in order of their start.

    If events start at the same time, the flush comes first: earlier calls have ended.
    """
    for plane in data.planes:
        if plane.name.startswith(DEVICE):
            events = sorted(_events_of(plane), key=lambda event: (event.start_ns, event.module != flush))
            if any(event.module == flush for event in events):
                if max(event.end_ns for event in events) >= EXACT_NS:
                    raise RuntimeError("jax's profiler counts from 1970, so its times are not exact")
                return events
    return []


def _events_of(plane: Any) -> Iterable[DeviceEvent]:
    for line in plane.lines:
        if line.name.startswith(STREAMS):
            for event in line.events:
                stats = {str(name).lower(): value for name, value in event.stats}
                if not WORK.isdisjoint(stats):
                    end_ns = event.start_ns + event.duration_ns
                    yield DeviceEvent(event.start_ns, end_ns, event.name, str(stats.get(MODULE, "")))


def _call(flush: DeviceEvent, events: Sequence[DeviceEvent]) -> CallOnDevice:
    if not events:
        return CallOnDevice(0.0, ())
    # The call's copy on another stream may start during the flush, which is not part of the call.
    start_ns = max(events[0].start_ns, flush.end_ns)
    end_ns = max(event.end_ns for event in events)
    return CallOnDevice(max(0.0, end_ns - start_ns) * 1e-9, tuple(event.name for event in events))


FLUSH = "jit_seqsweep_flush_l2"  # XLA's name for the program below


def seqsweep_flush_l2(buffer: jax.Array) -> jax.Array:
    """Write a new value to each byte, which XLA cannot optimise away and which evicts everything else."""
    return buffer + jnp.uint8(1)


class DeviceClock:
    """Times calls by device events. RuntimeError if the profiler has none."""

    def __init__(self, device: Any) -> None:
        self._buffer = jax.device_put(jnp.zeros(2 * LARGEST_L2, jnp.uint8), device)
        self._flush = jax.jit(seqsweep_flush_l2, donate_argnums=0).lower(self._buffer).compile()
        self._trace([lambda: None] * PROBES, 1)

    def flush(self) -> None:
        self._buffer = self._flush(self._buffer)

    def read(self, calls: Calls, inner: int, keep: Keep | None = None) -> list[float]:
        """A sample of each call: device seconds for `inner` calls."""
        spans = [call.seconds for call in self._trace(calls, inner, keep)]
        if not all(spans):
            raise RuntimeError("a call ran nothing on the device, so it has no device time")
        return [sum(spans[first : first + inner]) for first in range(0, len(spans), inner)]

    def kernels(self, call: Callable[[], Any]) -> tuple[str, ...]:
        """The names of the kernels, copies and fills of one call on the device, in order."""
        return self._trace([call], 1)[0].kernels

    def _trace(self, calls: Calls, inner: int, keep: Keep | None = None) -> list[CallOnDevice]:
        flushes, fetched = 0, set[int]()
        result: Any = None
        with _profiler() as traces:
            start = perf_counter()
            for place, call in enumerate(calls):
                for _ in range(inner):
                    self.flush()
                    result = None  # freed before the next call
                    result = call()
                    flushes += 1
                    if keep is not None and place == 0:
                        self.flush()  # separates the call from copying its result to the host
                        fetched.add(flushes)
                        flushes += 1
                        jax.block_until_ready(result)
                        keep(result)
            jax.block_until_ready((result, self._buffer))
            host_s = perf_counter() - start
            del result
        found = calls_after_flushes(traces[0], FLUSH, flushes)
        timed = [call for place, call in enumerate(found) if place not in fetched]
        refuse_above_host(sum(call.seconds for call in timed), host_s)
        return timed


def open_clock(device: Any) -> DeviceClock | str:
    """The device clock of a GPU, or the reason why the host's clock is used."""
    try:
        return DeviceClock(device)
    except Exception as error:  # XLA has various error classes, also for CUPTI
        message = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        return (
            f"timed by the host's clock, including launch overhead: {message}; allow profiling of the GPU "
            "(NVreg_RestrictProfilingToAdminUsers=0), and stop other profilers"
        )


@contextmanager
def _profiler() -> Generator[list[bytes]]:
    """Trace the device only; the list contains an XSpace at the end of the block.

    Uses the session behind jax.profiler.start_trace, which would write each trace to disk in two formats.
    """
    from jax._src.lib import _profiler as profiler  # pyright: ignore[reportAttributeAccessIssue]

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = options.host_tracer_level = 0
    options.enable_hlo_proto = False
    options.raise_error_on_start_failure = True
    session, traces = profiler.ProfilerSession(options), list[bytes]()
    try:
        yield traces
    finally:
        traces.append(session.stop())  # another session can start only after this one
