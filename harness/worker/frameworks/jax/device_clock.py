"""Device time of jax's calls on a GPU: the profiler's events of several calls in one trace.

Starting and stopping the profiler takes longer than most calls, so a trace has all readings of a turn. Each
call follows a flush of the L2 cache, whose name in the trace separates the calls.
"""

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp

from harness.worker.frameworks.jax.device_events import CallOnDevice, calls_after_flushes
from harness.worker.timers import Calls, Keep, refuse_above_host

FLUSH = "jit_seqsweep_flush_l2"  # what XLA calls the program below
LARGEST_L2 = 128 << 20  # bytes, where the driver does not tell: more than any GPU had by 2026 (126 MiB: B200)
L2_CACHE_SIZE = 38  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
PROBES = 2


def seqsweep_flush_l2(buffer: jax.Array) -> jax.Array:
    """A new value for each byte: XLA cannot leave it out, and it evicts everything else."""
    return buffer + jnp.uint8(1)


class DeviceClock:
    """Times calls by the events of their device. RuntimeError where the profiler has none of them."""

    def __init__(self, device: Any) -> None:
        size = 2 * (l2_bytes(device.local_hardware_id) or LARGEST_L2)
        self._buffer = jax.device_put(jnp.zeros(size, jnp.uint8), device)
        self._flush = jax.jit(seqsweep_flush_l2, donate_argnums=0).lower(self._buffer).compile()
        self._trace([lambda: None] * PROBES, 1)

    def flush(self) -> None:
        self._buffer = self._flush(self._buffer)

    def read(self, calls: Calls, inner: int, keep: Keep | None = None) -> list[float]:
        """A reading of each call: seconds on the device for `inner` of it."""
        spans = [call.seconds for call in self._trace(calls, inner, keep)]
        if not all(spans):
            raise RuntimeError("a call ran nothing on the device: it has no time there")
        return [sum(spans[first : first + inner]) for first in range(0, len(spans), inner)]

    def kernels(self, call: Callable[[], Any]) -> tuple[str, ...]:
        """The names of what one call runs on the device, in order."""
        return self._trace([call], 1)[0].kernels

    def _trace(self, calls: Calls, inner: int, keep: Keep | None = None) -> list[CallOnDevice]:
        flushes, fetched = 0, set[int]()
        result: Any = None
        with _profiler() as traces:
            start = perf_counter()
            for place, call in enumerate(calls):
                for _ in range(inner):
                    self.flush()
                    result = None  # freed before the next call makes another
                    result = call()
                    flushes += 1
                    if keep is not None and place == 0:
                        self.flush()  # copying the result to the host comes after it, and is no call
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
    """The clock of a GPU, or why its calls are timed by the host's."""
    try:
        return DeviceClock(device)
    except Exception as error:  # XLA has a class of its own for each kind of failure, CUPTI's among them
        words = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        return (
            f"timed by the host's clock, launches included: {words}; let the profiler read the GPU "
            "(NVreg_RestrictProfilingToAdminUsers=0), and run no other one beside it"
        )


@contextmanager
def _profiler() -> Generator[list[bytes]]:
    """A trace of the device alone: at the end of the block an XSpace is in the list.

    By the session behind jax.profiler.start_trace, which would write each trace to disk in two forms.
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
        traces.append(session.stop())  # another session can start only when this one has ended


def l2_bytes(ordinal: int) -> int | None:
    """The size of a GPU's L2 cache, by its driver; None where that does not tell."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    size, device = ctypes.c_int(), ctypes.c_int()
    failed = driver.cuDeviceGet(ctypes.byref(device), ordinal) or driver.cuDeviceGetAttribute(
        ctypes.byref(size), L2_CACHE_SIZE, device
    )
    return None if failed or size.value <= 0 else size.value
