"""Eager torch on the cpu or CUDA: static figures from a trace over fake tensors, and device time."""

import multiprocessing
import signal
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from harness.catalog.arrays import Shapes
from harness.core.errors import Unsupported
from harness.core.record import OperatorFigures
from harness.core.static_figures import Static
from harness.worker import array_files
from harness.worker.frameworks.base import FILL, Bind, Call, Framework, Function, Names, Prepared, TraceLimits
from harness.worker.frameworks.torch.arrays import empty, to_numpy, to_tensor
from harness.worker.frameworks.torch.binding import bind as bind_call
from harness.worker.frameworks.torch.binding import modules_of
from harness.worker.frameworks.torch.cuda import capture, cuda_events
from harness.worker.frameworks.torch.operators import count_stages, kernels_of, trace_operators
from harness.worker.frameworks.torch.trace import figures, untraceable, warm_up
from harness.worker.timers import Timer

GRAIN = 1 << 16  # elements per thread, enough for torch to start another thread
KINDS = (torch.Tensor, torch.nn.Parameter)
COPY, ADD = torch.Tensor.copy_, torch.Tensor.add_  # bound at import, so that replacing them has no effect
GRACE_SECONDS = 1.0
SHARED = 1.5  # wall time per CPU second of a trace, because other processes also run


@contextmanager
def without_modes() -> Generator[None]:
    """Disable torch's function and dispatch modes, which an implementation may not have exited."""
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        yield


class Torch(Framework):
    device: torch.device = torch.device("cpu")

    def preload(self, *, tracing: bool) -> None:
        """Import what the first trace imports, without computing or starting a thread."""
        if tracing:
            warm_up()

    def start(self, device: str, threads: int, *, wide: bool) -> None:  # noqa: ARG002 - always wide
        if device == "cuda" and not torch.cuda.is_available():
            raise Unsupported(
                "torch finds no CUDA device; run on a machine with one, "
                "and install a CUDA build (pip install torch)"
            )
        if device not in {"cpu", "cuda"}:
            raise Unsupported(f"torch runs on the cpu or CUDA, not on {device}")
        torch.set_num_threads(threads)
        self.device = torch.device(device)
        if device == "cuda":
            torch.cuda.init()
        self.busywork = torch.ones(threads * GRAIN)
        self.wake()  # so that the threads' stacks do not count as the case's memory

    def enter(self, mode: str, *, wide: bool) -> None:  # noqa: ARG002 - always wide
        torch.set_grad_enabled(mode != "fwd")

    def on_compilation(self, report: Callable[[bool], None]) -> None:
        """Uses torch.compile's callbacks (2.13); a first call may compile for seconds to minutes."""
        callbacks = sys.modules.get("torch._dynamo.callback")  # imported only if the builder compiles
        if callbacks is not None:
            callbacks.callback_handler.register_start_callback(lambda _: report(True))
            callbacks.callback_handler.register_end_callback(lambda _: report(False))

    def compilations(self) -> int:
        """Number of graphs that torch.compile has compiled."""
        dynamo = sys.modules.get("torch._dynamo.utils")
        return int(dynamo.counters["stats"]["unique_graphs"]) if dynamo else 0

    def prepare(
        self, function: Function, names: Names, shapes: Shapes, mode: str, limits: TraceLimits
    ) -> Prepared:
        for module in modules_of(function):
            module.to(self.device)

        def fake() -> Mapping[str, Any]:
            return {name: empty(shapes[name], self.device) for name in names}

        def bind(inputs: Mapping[str, Any], cotangent: Any) -> Call:
            return bind_call(function, names, mode, inputs, cotangent)

        def trace_single_threaded() -> Static:
            torch.set_num_threads(1)  # other threads do not survive the fork
            return self.trace(bind, fake, limits)

        if not limits.seconds:
            return Prepared(bind, Static.none("not traced: its figures were not requested"))
        if self.device.type == "cuda":  # CUDA does not work in a forked process
            return Prepared(bind, self.trace(bind, fake, limits))
        return Prepared(bind, trace_in_fork(trace_single_threaded, limits.seconds))

    def trace(self, bind: Bind, fake: Callable[[], Mapping[str, Any]], limits: TraceLimits) -> Static:
        """The figures of one call over fake tensors."""
        return figures(bind, fake, limits, owners=self.names_owners, cpu=self.device.type == "cpu")

    def put(self, tree: Any) -> Any:
        with without_modes():
            return array_files.map_leaves(tree, lambda leaf: to_tensor(leaf).to(self.device))

    def refill(self, target: Any, source: Any) -> Any:
        with without_modes(), torch.no_grad():
            for mine, theirs in zip(array_files.leaves(target), array_files.leaves(source), strict=True):
                COPY(mine, to_tensor(theirs))
        return target

    def get(self, tree: Any) -> Any:
        array_files.expect_arrays(tree, KINDS, "torch tensors")
        with without_modes():
            for leaf in array_files.leaves(tree):
                self._expect_values(leaf)
            return array_files.map_leaves(tree, to_numpy)

    def _expect_values(self, leaf: torch.Tensor) -> None:
        """Raise TypeError for a tensor on another device or not strided: reading it could compute."""
        if leaf.device.type != self.device.type or leaf.layout is not torch.strided:
            layout = str(leaf.layout).removeprefix("torch.")
            raise TypeError(
                f"the callable returned a {layout} tensor on {leaf.device}; "
                f"return strided tensors on {self.device.type}"
            )

    def sync(self, result: Any) -> None:  # noqa: ARG002
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def wake(self) -> None:
        with without_modes():
            ADD(self.busywork, 1)

    def overwrite(self, result: Any, inputs: Any) -> None:
        with without_modes(), torch.no_grad():
            theirs = {leaf.untyped_storage().data_ptr() for leaf in array_files.leaves(inputs)}
            for leaf in array_files.leaves(result):
                # Tensors without storage, inference tensors (read-only here) and expanded ones (many elements
                # at one address) raise RuntimeError and stay.
                with suppress(RuntimeError):
                    if type(leaf) in KINDS and leaf.untyped_storage().data_ptr() not in theirs:
                        leaf.fill_(FILL)

    def timer(self) -> Timer:
        if self.device.type == "cuda":
            return Timer("cuda_events", "flushed", cuda_events())
        return super().timer()

    def marks(self) -> tuple[Callable[[], Any], Callable[[Any, Any], float]]:
        """CUDA events, because the host runs ahead of the device; on the cpu the host's clock."""
        if self.device.type != "cuda":
            return super().marks()

        def mark() -> torch.cuda.Event:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            return event

        return mark, lambda start, end: start.elapsed_time(end) / 1000

    def count_stages(self, call: Call, prepared: Prepared) -> Mapping[str, Any]:  # noqa: ARG002
        return count_stages(call)

    def trace_operators(
        self, call: Call, prepared: Prepared, trace: Path | None
    ) -> Sequence[OperatorFigures]:
        del prepared  # torch's profiler needs only the call
        return trace_operators(call, self.sync, trace)

    def capture(self, call: Call) -> Call:
        if self.device.type != "cuda":
            return super().capture(call)
        return capture(call)

    def kernels(self, call: Call) -> Sequence[str]:
        return kernels_of(call, self.sync)

    def reference_device(self, device: str) -> str:
        return device if device == "cuda" and torch.cuda.is_available() else "cpu"

    def move_to_host(self) -> bool:
        on_device, self.device = self.device.type != "cpu", torch.device("cpu")
        return on_device

    def release_memory(self) -> None:
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()

    def track_peak(self) -> Callable[[], int | None]:
        if self.device.type != "cuda":
            return super().track_peak()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        return lambda: torch.cuda.max_memory_allocated() - before


def trace_in_fork(trace: Callable[[], Static], seconds: float) -> Static:
    """The figures of `trace`, run in a fork of this process, or the reason if that fails.

    Many callables cache a tensor of their first call, for example a mask. In a trace that would be a fake
    tensor, which timed calls would use. A trace stops itself after `seconds` of CPU time, but only when it
    dispatches an operator, so the parent also has a timeout.
    """
    reader, writer = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_answer, args=(trace, writer))
    child.start()
    writer.close()  # else the reader gets no EOF when the child dies (pipe(7))
    try:
        if not reader.poll(SHARED * seconds + GRACE_SECONDS):
            return Static.none(f"tracing took more than {seconds:.2g} s; loop over fewer, larger tiles")
        return reader.recv()
    except EOFError:
        child.join()
        code = child.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return Static.none(f"tracing over fake tensors ended the process ({how})")
    finally:
        reader.close()
        child.kill()
        child.join()


def _answer(trace: Callable[[], Static], writer: Connection) -> None:
    """Send the figures, or the reason why there are none, from the fork."""
    try:
        figures = trace()
    except BaseException as error:
        figures = untraceable(error)
    writer.send(figures)
