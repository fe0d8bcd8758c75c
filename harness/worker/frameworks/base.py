"""The interface of frameworks; a process imports only those that it serves."""

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
FILL = 77  # written over returned results; every dtype can represent it


@dataclass(frozen=True)
class Prepared:
    """A case ready to be called.

    `bind(inputs, cotangent)` takes device arrays and returns a call without arguments: the whole of
    it is timed. In `bwd`, binding computes the residuals, which is not. `cotangent` is a tuple with
    one array per floating leaf of the forward's result, in the order of :func:`array_files.leaves`; None in
    `fwd`, and for ones where only the memory of a call matters. A result is the forward's own tree in
    `fwd`, `{"gradients": …}` in `bwd` and both (`{"result": …, "gradients": …}`) in `fwd_bwd`; gradients
    stand under the names of the floating inputs, zero where the result does not depend on one. `program` is
    for the framework's own use: what it has compiled, if anything.
    """

    bind: Bind
    static: Static
    program: Any = None


@dataclass(frozen=True)
class TraceLimits:
    """Limits at which a trace is abandoned: seconds of CPU time (0: no trace at all), and live bytes."""

    seconds: float
    live_bytes: int


class Framework(Protocol):
    """One framework on one device; the defaults are for a framework that compiles nothing.

    Its :class:`~harness.catalog.known_frameworks.FrameworkTraits`, which are known without loading it, name
    the class as their `runner`. A process has one object of it, and calls in this order: `preload`, before
    the process is forked; `start`, `enter`, `prepare`, `on_compilation`; then `put`, the prepared `bind`, its
    call, `sync` and `get`. A tree is an array, or a dict, tuple or list of trees; lists come back as
    tuples. Numpy arrays have the dtypes of `harness.catalog.arrays`, with bf16 from ml_dtypes. Times are in
    seconds, memory in bytes. What cannot be done is refused with Unsupported, a sentence with the remedy,
    which becomes the case's reason; any other exception is a crash, or an oom if it reports exhausted memory.
    """

    names_owners: bool = False  # whether static figures include the buffers of the planned peak
    refills_in_place: bool = True  # whether `refill` writes into arrays that an implementation has seen

    def preload(self, *, tracing: bool) -> None:
        """Import what every case needs, without touching a device or starting a thread.

        Without `tracing` skip what only a trace needs, which takes as long to import as the rest.
        """

    def start(self, device: str, threads: int, *, wide: bool) -> None:
        """Initialise the backend of `device` (cpu, cuda, tpu), with so many threads on the host.

        `wide` asks for 64-bit types. Unsupported for a device that it does not run on, or that is not here.
        """
        ...

    def enter(self, mode: str, *, wide: bool) -> None:
        """Apply process-wide settings (x64, grad mode) for the next case, in mode fwd, bwd or fwd_bwd."""

    def on_compilation(self, tell: Callable[[bool], None]) -> None:
        """Register `tell`, to be called with True when a call begins to compile, with False at its end.

        It is never called where `prepare` compiles everything, or nothing is compiled.
        """

    def compilations(self) -> int:
        """How many programs this process has compiled so far."""
        return 0

    def prepare(
        self, function: Function, names: Names, shapes: Shapes, mode: str, limits: TraceLimits
    ) -> Prepared:
        """Compile or trace `function` over inputs that need not exist yet.

        `function` takes the inputs in `names` by name, and `shapes` describes them; except for a reference,
        which is not traced (0 s of `limits`). Static figures are those of one call in `mode`; each missing
        one has a reason, and an abandoned trace gives none. Unsupported for a mode that it does not have.
        """
        ...

    def put(self, tree: Any) -> Any:
        """The same tree of arrays on the device: copies, complete when this returns."""
        ...

    def refill(self, target: Any, source: Any) -> Any:
        """`source`'s values in `target`'s own storage where arrays are mutable, else new arrays.

        `source` is a tree of numpy arrays with the shapes and dtypes of `target`, which is on the device.
        """
        ...

    def get(self, tree: Any) -> Any:
        """A result's arrays as numpy arrays on the host, of the same shapes and dtypes.

        TypeError for anything but the framework's own array type, by `array_files.expect_arrays`: a subclass
        could defer its computation until now, when no clock runs.
        """
        ...

    def sync(self, result: Any) -> None:
        """Wait until every array of `result`, of any form, is computed. This is part of a call's time."""
        ...

    def wake(self) -> None:
        """Wake sleeping threads by work of the framework's own, without calling an implementation."""

    def overwrite(self, result: Any, inputs: Any) -> None:
        """Overwrite a result, which belongs to the caller, except for parts in the memory of `inputs`.

        So an implementation cannot reuse it as a cache. A no-op where arrays are immutable.
        """

    def timer(self) -> Timer:
        """The clock of its device, if calls can be timed by that; else the host's."""
        return Timer("wall", "rotated", timers.wall(self.sync))

    def marks(self) -> tuple[Callable[[], Any], Callable[[Any, Any], float]]:
        """(function that sets a mark in the device's stream, function for the seconds between two marks)."""
        return perf_counter, lambda start, end: end - start

    def time_stages(self, call: Call, prepared: Prepared) -> Mapping[str, StageSpan]:
        """Run one call, and return the times of its stages by name. They add up to the whole call.

        Unsupported where the stages cannot be told apart.
        """
        del prepared
        mark, span = self.marks()
        recorder = StageRecorder(mark)
        result = recorder.run(call)
        recorder.end()
        self.sync(result)  # before the spans are read
        times = recorder.parts(span).items()
        return {name: StageSpan(seconds, recorder.entered.get(name, 1)) for name, seconds in times}

    def count_stages(self, call: Call, prepared: Prepared) -> Mapping[str, Any]:
        """(operators, flops, bytes) of a call, which may run, by stage; empty where they are not counted."""
        del call, prepared
        return {}

    def trace_operators(
        self, call: Call, prepared: Prepared, trace: Path | None
    ) -> Sequence[OperatorFigures]:
        """Run a call, and return its operators; its trace, for Chrome or Perfetto, is written to `trace`.

        Unsupported where there is no profiler.
        """
        del call, prepared, trace
        raise Unsupported("its framework does not report which operators a call runs")

    def kernels(self, call: Call) -> Sequence[str]:
        """Run a call, and return the names of the kernels, copies and fills that its device ran, in order.

        Unsupported where there is no profiler of the device.
        """
        del call
        raise Unsupported("its framework does not report which kernels a call runs")

    def capture(self, call: Call) -> Call:
        """Capture a call as a CUDA graph: a function that replays it. Its result is always the same arrays.

        Unsupported if there are no graphs, or the call cannot be captured.
        """
        del call
        raise Unsupported("CUDA graphs are captured of torch's calls on CUDA alone; leave out --graphs")

    def reference_device(self, device: str) -> str:
        """Where references of cases on `device` are evaluated: the cpu, or a device that has f64, too."""
        del device
        return "cpu"

    def move_to_host(self) -> bool:
        """Compute on the cpu from here on; False if this process does already."""
        return False

    def release_memory(self) -> None:
        """Return to the device the memory that is kept for later allocations; a no-op on the cpu."""

    def track_peak(self) -> Callable[[], int | None]:
        """A function that returns by how many bytes memory has peaked above what is in use now.

        By the device's allocator if there is one, else by the process's resident size; None: not known.
        """
        return resource_limits.track_peak()


def require_matching(seeds: Sequence[Any], outputs: Sequence[Any]) -> None:
    """TypeError unless the cotangents have the shapes of the result's floating parts."""
    wanted, came = ([tuple(array.shape) for array in arrays] for arrays in (seeds, outputs))
    if wanted != came:
        raise TypeError(
            f"the floating parts of the result have the shapes {came}; the reference's have {wanted}"
        )


@cache
def get(name: str) -> Framework:
    """The one object of a framework in this process; UsageError for an unknown name."""
    require_framework(name)
    return resolve_name(traits_of(name).runner)()


def preload(names: Sequence[str], *, tracing: bool = True) -> None:
    """Load these frameworks before any process of a case is forked."""
    for name in names:
        get(name).preload(tracing=tracing)
