"""The frameworks behind one interface; a process imports only the one that it serves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol

from harness.catalog.arrays import Shapes
from harness.catalog.known_frameworks import require_framework, traits_of
from harness.core.errors import Unsupported
from harness.core.record import OperatorFigures
from harness.core.static_figures import Static
from harness.worker import resource_limits, timers
from harness.worker.stage_recorder import StageSpan, time_marked
from harness.worker.timers import Read

SCRAWL = 77  # a number of every dtype, written over what a call has returned


@dataclass(frozen=True)
class Prepared:
    """A case ready to be called.

    `bind(inputs, cotangent)` takes device arrays and returns a call without arguments: the whole of
    it is timed. In `bwd`, binding computes the residuals, which is not. `cotangent` is a tuple with
    one array per floating leaf of the forward's result, in the order of :func:`trees.leaves`; None in
    `fwd`, and for ones where only the memory of a call matters. A result is the forward's own tree in
    `fwd`, `{"gradients": …}` in `bwd` and both (`{"result": …, "gradients": …}`) in `fwd_bwd`; gradients
    stand under the names of the floating inputs, zero where the result does not depend on one. `program` is
    for the framework alone: what it has compiled, None where nothing is. `steps` are the seconds of tracing,
    lowering and compiling it.
    """

    bind: Callable[[Mapping[str, Any], Any], Callable[[], Any]]
    static: Static
    program: Any = None
    steps: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class Patience:
    """Limits at which a trace is abandoned: a processor's seconds (0: no trace at all), and live bytes."""

    seconds: float
    live_bytes: int


class CapturedCall(Protocol):
    """A call that the device repeats from a graph of its work; `result` is what the last replay wrote."""

    result: Any

    def read(self, replays: int) -> float:
        """Seconds on the device of so many replays, each with nothing of its inputs in the cache."""
        ...


class Framework(Protocol):
    """One framework on one device; the defaults are those of one whose calls compile nothing.

    What is known of it without loading it are its :class:`~harness.catalog.framework_traits.FrameworkTraits`,
    which name this class as their `runner`. A process has one object of it, and calls in this order:
    `preload`, before it is forked; `start`, `enter`, `on_compilation`, `prepare`; then `put`, the binding of
    what is prepared, calls, `sync` and `get`. A tree is an array, or a dict, tuple or list of trees; lists
    come back as tuples. Numpy's arrays have the dtypes of `harness.catalog.arrays`, bf16 as ml_dtypes has it.
    Times are seconds, memory is bytes. What cannot be done is refused with Unsupported, a sentence with the
    remedy, which becomes the case's reason; whatever else is raised is a crash, or an oom where it says that
    memory is exhausted.
    """

    names_owners: bool = False  # whether static figures also say who owns the planned peak
    refills_in_place: bool = True  # whether `refill` changes arrays that an implementation has seen

    def preload(self, *, tracing: bool) -> None:
        """Import what every case needs, without touching a device or starting a thread.

        What only a trace needs takes as long as the rest: it is left out where no figures are asked for.
        """

    def plain_calls(
        self, function: Callable[..., Any], sets: Sequence[Mapping[str, Any]], threads: int
    ) -> Sequence[Callable[[], Any]]:
        """A forward call on each set of numpy arrays, as a user's script would make it on the cpu.

        The harness is measured against these: nothing of its own belongs into them.
        """
        self.start("cpu", threads, wide=False)
        placed = [{name: self.put(value) for name, value in named.items()} for named in sets]
        return [lambda named=named: self.sync(function(**named)) for named in placed]

    def start(self, device: str, threads: int, *, wide: bool) -> None:
        """Initialise the backend of `device` (cpu, cuda, tpu), with so many threads on the host.

        `wide` asks for 64-bit types. Unsupported for a device that it does not run on, or that is not here.
        """
        ...

    def enter(self, mode: str, *, wide: bool) -> None:
        """Apply process-wide settings (x64, grad mode) for the case that runs next, in `mode`.

        That is fwd, bwd or fwd_bwd.
        """

    def on_compilation(self, tell: Callable[[bool], None]) -> None:
        """Call `tell` with True when a call begins to compile, and with False when that has ended.

        Never where all is compiled by `prepare`, or nothing at all.
        """

    def keep_programs(self, folder: str) -> None:
        """Keep compiled programs in a folder, and take them from there; nothing where none is compiled."""

    def compilations(self) -> int:
        """How many programs this process has compiled so far."""
        return 0

    def prepare(
        self,
        function: Callable[..., Any],
        names: tuple[str, ...],
        shapes: Shapes,
        mode: str,
        patience: Patience,
    ) -> Prepared:
        """Compile or trace `function` over inputs that need not exist yet.

        It is called with the inputs of `names`, by name, which `shapes` describes; of a reference, which
        nobody traces (0 s of `patience`), it does not. Static figures are one call's in `mode`, and each that
        is missing has its reason; a trace that is abandoned gives none.
        Unsupported for a mode that there is not.
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

        TypeError names what is not exactly the framework's own array, as `array_files.expect_arrays` does:
        a subclass could compute only now, when no clock is read any more.
        """
        ...

    def sync(self, result: Any) -> None:
        """Return when every array of `result`, of any form, is computed; within the time of a call."""
        ...

    def wake(self) -> None:
        """Wake the threads that fell asleep, by work of the framework's own: no implementation is called."""

    def overwrite(self, result: Any, inputs: Any) -> None:
        """Write over a result, which is its caller's, but for parts in the memory of `inputs`.

        What an implementation means to find there in a later call is gone. Nothing where arrays never change.
        """

    def timer(self) -> tuple[str, str, Read]:
        """(method, cache, read): `read(call, inner, keep)` gives seconds for `inner` synchronised calls.

        `method` and `cache` name the clock and how caches are kept from holding the inputs, for the record.
        `keep` takes every result, computed; None lets go of each before the next call.
        """
        return "wall", "rotated", timers.wall(self.sync)

    def marks(self) -> tuple[Callable[[], Any], Callable[[Any, Any], float]]:
        """(sets a mark in the device's stream of work, seconds between two)."""
        return timers.host_marks()

    def time_stages(self, call: Callable[[], Any], prepared: Prepared) -> Mapping[str, StageSpan]:
        """The times of the stages of one call, which runs, by name. They add up to the whole call.

        Unsupported where the stages of a call cannot be told apart.
        """
        del prepared
        return time_marked(call, self.sync, *self.marks())

    def count_stages(self, call: Callable[[], Any], prepared: Prepared) -> Mapping[str, Any]:
        """(operators, flops, bytes) by stage of one call, which may run; empty where nobody can count."""
        del call, prepared
        return {}

    def trace_operators(
        self, call: Callable[[], Any], prepared: Prepared, trace: Path | None
    ) -> Sequence[OperatorFigures]:
        """The operators of a call, which runs; into `trace` goes what Chrome and Perfetto draw of it.

        Unsupported where nobody watches them.
        """
        del call, prepared, trace
        raise Unsupported("its framework tells nobody which operators a call runs")

    def capture(self, call: Callable[[], Any]) -> CapturedCall:
        """A call as a graph of the device's work. Unsupported where there is none, or it cannot be one."""
        del call
        raise Unsupported("CUDA graphs are captured of torch's calls on CUDA alone; leave out --graphs")

    def watch_memory(self) -> Callable[[], tuple[int | None, int | None, str]]:
        """A function that gives (peak, outside, counter) in bytes of what is placed and called until then.

        Of the device's allocator, and what the device holds beside that: context, libraries, other processes.
        Here of the process: the rise of its resident size, and what was resident before. None is unknown.
        """
        outside, rise = resource_limits.resident(), resource_limits.rise()
        return lambda: (rise(), outside, "resident")

    def rise(self) -> Callable[[], int | None]:
        """A function that gives the bytes by which memory has peaked above what is in use now.

        Of the device's allocator where there is one, else of the process; None where nobody knows.
        """
        return resource_limits.rise()


def match(seeds: Sequence[Any], outputs: Sequence[Any]) -> None:
    """TypeError when a cotangent was made for a result of another form."""
    wanted, came = ([tuple(array.shape) for array in arrays] for arrays in (seeds, outputs))
    if wanted != came:
        raise TypeError(
            f"the floating parts of the result have the shapes {came}; the reference's have {wanted}"
        )


@cache
def get(name: str) -> Framework:
    """The one object of a framework in this process; UsageError where none of that name is known."""
    require_framework(name)
    return resolve_name(traits_of(name).runner)()


def preload(names: Sequence[str], *, tracing: bool = True) -> None:
    """Load these frameworks before any process of a case is forked."""
    for name in names:
        get(name).preload(tracing=tracing)
