"""Kernels, copies and fills of a GPU in a trace of XLA's profiler, and the calls that they belong to.

The layout is that of xla/backends/profiler/gpu/cupti_collector.cc (jax 0.10 to 0.12): a plane `/device:GPU:0`
has a line for each stream, `Stream #14(Kernel,MemcpyD2D)`, or `CUPTI overhead` where the profiler's own work
is on it too. Other lines of the plane are sums of these events or counters.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from jax.profiler import ProfileData

from harness.xla.protobuf import inside

DEVICE, STREAMS = "/device:GPU:", ("Stream #", "CUPTI overhead")
# An event of each kind has a statistic of its own. Allocations and the profiler's overhead have others.
WORK = frozenset(("kernel_details", "memcpy_details", "memset_details"))
MODULE = "hlo_module"
ERRORS, WARNINGS = 2, 3  # fields of XSpace (xplane.proto), which ProfileData does not give
EXACT_NS = 1 << 53  # its times are floats, which hold every nanosecond up to here


class DeviceEvent(NamedTuple):
    """One kernel, copy or fill, in nanoseconds of the trace's clock."""

    start_ns: float
    end_ns: float
    name: str
    module: str  # the XLA program that launched it; empty where that is not known


class CallOnDevice(NamedTuple):
    """What ran after one flush and before the next."""

    seconds: float  # from the start of the first event to the end of the last; 0 where nothing ran
    kernels: tuple[str, ...]  # their names in order of their starts


def calls_after_flushes(trace: bytes, flush: str, count: int) -> list[CallOnDevice]:
    """The calls of a trace, each of which a program named `flush` ran before. They are to be `count`.

    RuntimeError, with the profiler's own words, where the trace does not tell the calls apart.
    """
    said = [text.decode(errors="replace") for text in inside([trace], ERRORS) + inside([trace], WARNINGS)]
    why = f" ({said[0].strip()})" if said else ""
    events = device_events(ProfileData.from_serialized_xspace(trace), flush)
    flushes = [place for place, event in enumerate(events) if event.module == flush]
    if any("dropped" in text for text in said) or len(flushes) != count:
        raise RuntimeError(
            f"jax's profiler reported {len(flushes)} of {count} flushes of the L2 cache on the device{why}"
        )
    bounds = [*flushes, len(events)]
    return [_call(events[first], events[first + 1 : last]) for first, last in pairwise(bounds)]


def device_events(data: Any, flush: str) -> list[DeviceEvent]:
    """The events of the GPU that ran the program `flush`, by their starts; of all its streams.

    Of events that start at one time the flush comes first: the calls before it have ended.
    """
    for plane in data.planes:
        if plane.name.startswith(DEVICE):
            events = sorted(_events_of(plane), key=lambda event: (event.start_ns, event.module != flush))
            if any(event.module == flush for event in events):
                if max(event.end_ns for event in events) >= EXACT_NS:
                    raise RuntimeError("jax's profiler counts from 1970: its times are not exact")
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
    # A copy of the call on another stream may start beside the flush, whose time is not the call's.
    start_ns = max(events[0].start_ns, flush.end_ns)
    end_ns = max(event.end_ns for event in events)
    return CallOnDevice(max(0.0, end_ns - start_ns) * 1e-9, tuple(event.name for event in events))
