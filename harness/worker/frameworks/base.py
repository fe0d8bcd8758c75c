"""The interface of frameworks; a process imports only the frameworks that it uses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from time import perf_counter
from typing import Any, Protocol, TypeAlias

from harness.catalog.arrays import Shapes
from harness.catalog.known_frameworks import require_framework, traits_of
from harness.core.errors import Unsupported
from harness.core.record import OperatorFigures
from harness.core.static_figures import Static
from harness.worker import resource_limits, timers
from harness.worker.stage_recorder import StageRecorder, StageSpan
from harness.worker.timers import Timer

Names: TypeAlias = tuple[str, ...]
Function: TypeAlias = Callable[..., Any]
Call: TypeAlias = Callable[[], Any]
Bind: TypeAlias = Callable[[Mapping[str, Any], Any], Call]
FILL = 77  # overwrites returned results; every dtype can represent it


@dataclass(frozen=True)
class Prepared:
    """A case ready to be called.

    `bind(inputs, cotangent)` takes device arrays and returns a call without arguments, which is timed.
    In `bwd`, binding computes the residuals, untimed. `cotangent` is a tuple with one array per floating leaf
    of the forward's result, in the order of :func:`array_files.leaves`. It is None in `fwd` and in traces,
    which use ones. The result is the forward's tree in `fwd`, `{"gradients": …}` in `bwd`, and
    `{"result": …, "gradients": …}` in `fwd_bwd`. Gradients have the names of the floating inputs, and are
    zero if the result does not depend on an input. `program` is the framework's compiled program, if any.
    """

    bind: Bind
    static: Static
    program: Any = None


@dataclass(frozen=True)
class TraceLimits:
    """Limits of a trace: seconds of CPU time (0 means no trace), and live bytes."""

    seconds: float
    live_bytes: int


class Framework(Protocol):
    """One framework on one device; the defaults suit a framework without a compiler.

    Its :class:`~harness.catalog.known_frameworks.FrameworkTraits`, which are known without loading it, name
    the class as `runner`. A process has one instance, and calls in this order: `preload`, before the fork;
    `start`, `enter`, `prepare`, `on_compilation`; then `put`, the prepared `bind`, its call, `sync`
    and `get`. A tree is an array, or a dict, tuple or list of trees; lists are returned as tuples. Numpy
    arrays have the dtypes of `harness.catalog.arrays`, with bf16 from ml_dtypes. Times are in seconds, memory
    in bytes. Methods raise Unsupported, with the remedy, for what they cannot do; the message becomes the
    case's reason. Any other exception is a crash, or an oom if it reports exhausted memory.
    """

    names_owners: bool = False  # whether static figures include the buffer breakdown of the planned peak
    refills_in_place: bool = True  # whether `refill` writes into arrays that an implementation has seen

    def preload(self, *, tracing: bool) -> None:
        """Import what every case needs, without touching a device or starting a thread.

        Without `tracing`, skip what only a trace needs, which is half of the import time.
        """

    def start(self, device: str, threads: int, *, wide: bool) -> None:
        """Initialise the backend of `device` (cpu, cuda, tpu), with `threads` threads on the host.

        `wide` enables 64-bit types. Raises Unsupported if the device is unsupported or absent.
        """
        ...

    def enter(self, mode: str, *, wide: bool) -> None:
        """Apply process-wide settings (x64, grad mode) for the next case, in mode fwd, bwd or fwd_bwd."""

    def on_compilation(self, report: Callable[[bool], None]) -> None:
        """Register `report`: it is called with True when a call starts to compile, with False at the end.

        It is never called if only `prepare` compiles, or nothing is compiled.
        """

    def compilations(self) -> int:
        """Number of programs that this process has compiled so far."""
        return 0

    def prepare(
        self, function: Function, names: Names, shapes: Shapes, mode: str, limits: TraceLimits
    ) -> Prepared:
        """Compile or trace `function` over described inputs, which need not exist yet.

        `function` takes the inputs in `names` by keyword, and `shapes` describes them. A reference is not
        traced (`limits` of 0 s) and needs no `shapes`. Static figures are those of one call in `mode`. Each
        missing figure has a reason, and an abandoned trace has no figures. Unsupported for an unknown mode.
        """
        ...

    def put(self, tree: Any) -> Any:
        """Copy a tree of arrays to the device; the copies are complete when this returns."""
        ...

    def refill(self, target: Any, source: Any) -> Any:
        """Write the values of `source` into the storage of `target` if arrays are mutable, else new arrays.

        `source` is a tree of numpy arrays with the shapes and dtypes of `target`, which is on the device.
        """
        ...

    def get(self, tree: Any) -> Any:
        """Copy a result to numpy arrays on the host, with the same shapes and dtypes.

        TypeError for anything but the framework's own array type, by `array_files.expect_arrays`. A subclass
        could defer its computation until now, which is not timed.
        """
        ...

    def sync(self, result: Any) -> None:
        """Wait until every array of `result` is computed. This counts as part of a call's time."""
        ...

    def wake(self) -> None:
        """Wake sleeping threads with the framework's own work, without calling an implementation."""

    def overwrite(self, result: Any, inputs: Any) -> None:
        """Overwrite a result, which belongs to the caller, except for parts in the memory of `inputs`.

        This prevents an implementation from reusing it as a cache. A no-op if arrays are immutable.
        """

    def timer(self) -> Timer:
        """The device's timer if it can time calls, else the host's."""
        return Timer("wall", "rotated", timers.wall(self.sync))

    def marks(self) -> tuple[Callable[[], Any], Callable[[Any, Any], float]]:
        """(function that records a mark on the device, function for the seconds between two marks)."""
        return perf_counter, lambda start, end: end - start

    def time_stages(self, call: Call, prepared: Prepared) -> Mapping[str, StageSpan]:
        """Run one call, and return the times of its stages by name, which add up to the complete call.

        Raises Unsupported if stages cannot be distinguished.
        """
        del prepared
        mark, span = self.marks()
        recorder = StageRecorder(mark)
        result = recorder.run(call)
        recorder.end()
        self.sync(result)  # before the marks are read
        times = recorder.parts(span).items()
        return {name: StageSpan(seconds, recorder.entered.get(name, 1)) for name, seconds in times}

    def count_stages(self, call: Call, prepared: Prepared) -> Mapping[str, Any]:
        """(operators, flops, bytes) of a call by stage; may run the call. Empty if they are not counted."""
        del call, prepared
        return {}

    def trace_operators(
        self, call: Call, prepared: Prepared, trace: Path | None
    ) -> Sequence[OperatorFigures]:
        """Run a call, and return its operators; write a trace for Chrome or Perfetto to `trace`, if given.

        Raises Unsupported without a profiler.
        """
        del call, prepared, trace
        raise Unsupported("this framework does not report which operators a call runs")

    def kernels(self, call: Call) -> Sequence[str]:
        """Run a call, and return the names of its kernels, copies and fills on the device, in order.

        Raises Unsupported without a profiler of the device.
        """
        del call
        raise Unsupported("this framework does not report which kernels a call runs")

    def capture(self, call: Call) -> Call:
        """Capture a call as a CUDA graph, and return a function that replays it into the same arrays.

        Raises Unsupported if the framework has no graphs, or cannot capture the call.
        """
        del call
        raise Unsupported("CUDA graphs require torch on CUDA; omit --graphs")

    def reference_device(self, device: str) -> str:
        """Device on which references of cases on `device` are evaluated: the cpu, or a device with f64."""
        del device
        return "cpu"

    def move_to_host(self) -> bool:
        """Compute on the cpu from now on; False if this process already does."""
        return False

    def release_memory(self) -> None:
        """Return cached free memory to the device; a no-op on the cpu."""

    def track_peak(self) -> Callable[[], int | None]:
        """A function that returns the peak growth of memory since now, in bytes; None if unknown.

        It measures the device's allocator if there is one, else the process's resident size.
        """
        return resource_limits.track_peak()


def require_matching(seeds: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Raise TypeError if the cotangents differ in shape from the result's floating leaves."""
    expected, actual = ([tuple(array.shape) for array in arrays] for arrays in (seeds, outputs))
    if expected != actual:
        raise TypeError(
            f"the floating parts of the result have shapes {actual}, those of the reference {expected}"
        )


@cache
def get(name: str) -> Framework:
    """The framework's only instance in this process; UsageError for an unknown name."""
    require_framework(name)
    return resolve_name(traits_of(name).runner)()


def preload(names: Sequence[str], *, tracing: bool = True) -> None:
    """Import these frameworks before any case process is forked."""
    for name in names:
        get(name).preload(tracing=tracing)
