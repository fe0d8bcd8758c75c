"""torch, eager, on the cpu or CUDA: figures from a trace over fake tensors, time from the device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
import torch

from harness.catalog.arrays import Array, Shapes, prune
from harness.core.errors import Unsupported
from harness.core.record import OperatorFigures
from harness.core.stage import BACKWARD, stage
from harness.core.static_figures import Static
from harness.worker import array_files, resource_limits, timers
from harness.worker.frameworks import forked_trace, torch_extrapolation, torch_trace
from harness.worker.frameworks.base import Framework, Patience, Prepared, StageSpan, match
from harness.worker.stage_recorder import time_marked

GRAIN = 1 << 16  # elements per thread, amply enough that torch uses one thread more
DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i64": torch.int64,
    "i32": torch.int32,
    "bool": torch.bool,
    "c64": torch.complex64,
}

Ties: TypeAlias = list[tuple[torch.Tensor, torch.Tensor]]


def preload(*, tracing: bool) -> None:
    """Import what the first trace imports; fake tensors compute nothing and start no thread."""
    if tracing:
        torch_trace.warm()


class Torch(Framework):
    device: torch.device = torch.device("cpu")

    def start(self, device: str, threads: int, *, wide: bool) -> None:  # noqa: ARG002 - always wide
        if device == "cuda" and not torch.cuda.is_available():
            raise Unsupported(
                "torch sees no CUDA device here; run on a machine that has one, "
                "with a CUDA build: pip install torch"
            )
        if device not in {"cpu", "cuda"}:
            raise Unsupported(f"torch runs on the cpu or CUDA, not on {device}")
        torch.set_num_threads(threads)
        self.device = torch.device(device)
        if device == "cuda":
            torch.cuda.init()
        else:
            torch.ones(threads * GRAIN).add_(1)  # the threads' stacks are the backend's, not the case's

    def enter(self, mode: str, *, wide: bool) -> None:  # noqa: ARG002 - always wide
        torch.set_grad_enabled(mode != "fwd")

    def on_compilation(self, tell: Callable[[bool], None]) -> None:
        """By torch.compile's own callbacks (2.13); its first call compiles, for seconds to minutes."""
        callbacks = sys.modules.get("torch._dynamo.callback")  # not loaded: the builder compiles nothing
        if callbacks is not None:
            callbacks.callback_handler.register_start_callback(lambda _: tell(True))
            callbacks.callback_handler.register_end_callback(lambda _: tell(False))

    def compilations(self) -> int:
        """Graphs that torch.compile has made; eager calls compile nothing."""
        dynamo = sys.modules.get("torch._dynamo.utils")
        return int(dynamo.counters["stats"]["unique_graphs"]) if dynamo else 0

    def prepare(
        self,
        function: Callable[..., Any],
        names: tuple[str, ...],
        shapes: Shapes,
        mode: str,
        patience: Patience,
    ) -> Prepared:
        def fake(shapes: Shapes = shapes) -> Mapping[str, Any]:
            return {name: _empty(shapes[name], self.device) for name in names}

        def bind(inputs: Mapping[str, Any], cotangent: Any) -> Callable[[], Any]:
            return self.bind(function, names, mode, inputs, cotangent)

        def trace() -> Static:
            return torch_trace.figures(bind, fake, patience)

        def trace_alone() -> Static:
            torch.set_num_threads(1)  # a forked process has lost the others
            return trace()

        def trace_shorter() -> Static:
            torch.set_num_threads(1)

            def at(length: int) -> tuple[Static, torch_extrapolation.Survey]:
                survey, shortened = torch_extrapolation.Survey(), torch_extrapolation.cut(used, length)
                return torch_trace.figures(bind, lambda: fake(shortened), patience, survey), survey

            return torch_extrapolation.figures(at, torch_extrapolation.longest(used))

        if not patience.seconds:
            return Prepared(bind, Static.none("not traced: nobody asked for its figures"))
        if self.device.type == "cuda":  # a forked process has no CUDA
            return Prepared(bind, trace())
        used = {name: shapes[name] for name in names}
        if torch_extrapolation.longest(used) > torch_extrapolation.LONG:
            static = forked_trace.trace_in_fork(trace_shorter, patience.seconds)
            if static.flops is not None:
                return Prepared(bind, static)
        return Prepared(bind, forked_trace.trace_in_fork(trace_alone, patience.seconds))

    def bind(
        self,
        function: Callable[..., Any],
        names: tuple[str, ...],
        mode: str,
        inputs: Mapping[str, Any],
        cotangent: Any,
    ) -> Callable[[], Any]:
        """The timed call. In a backward `cotangent` None stands for ones (in a trace)."""
        arguments = {name: inputs[name] for name in names}
        if mode == "fwd":
            return lambda: function(**arguments)
        arguments = array_files.map_leaves(arguments, _differentiable)
        leaves = [leaf for leaf in array_files.leaves(arguments) if leaf.requires_grad]

        def gradients(ties: Ties, *, keep: bool) -> Any:
            gradients_found = torch.autograd.grad(
                [output for output, _ in ties],
                leaves,
                [seed for _, seed in ties],
                retain_graph=keep,
                allow_unused=True,
            )
            pairs = zip(leaves, cast("Sequence[torch.Tensor | None]", gradients_found), strict=True)
            by_leaf = {id(leaf): torch.zeros_like(leaf) if g is None else g for leaf, g in pairs}
            return prune(array_files.map_leaves(arguments, lambda leaf: by_leaf.get(id(leaf))))

        if mode == "bwd":
            result = function(**arguments)
            ties = _ties(result, cotangent or _ones(result))

            def pullback() -> Any:
                with stage(BACKWARD):
                    return {"gradients": gradients(ties, keep=True)}

            return pullback
        if cotangent is None:
            with torch.no_grad():
                cotangent = _ones(function(**arguments))

        def both() -> Any:
            result = function(**arguments)
            with stage(BACKWARD):
                return {"result": result, "gradients": gradients(_ties(result, cotangent), keep=False)}

        return both

    def put(self, tree: Any) -> Any:
        return array_files.map_leaves(tree, lambda leaf: _tensor(leaf).to(self.device))

    def refill(self, target: Any, source: Any) -> Any:
        with torch.no_grad():
            for mine, theirs in zip(array_files.leaves(target), array_files.leaves(source), strict=True):
                mine.copy_(_tensor(theirs))
        return target

    def get(self, tree: Any) -> Any:
        array_files.expect_arrays(tree, (torch.Tensor, torch.nn.Parameter), "torch tensors")
        return array_files.map_leaves(tree, _numpy)

    def sync(self, result: Any) -> None:  # noqa: ARG002
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def timer(self) -> tuple[str, str, timers.Read]:
        if self.device.type == "cuda":
            return "cuda_events", "flushed", cuda_events()
        return "wall", "rotated", timers.wall(self.sync)

    def time_stages(
        self,
        call: Callable[[], Any],
        prepared: Prepared,  # noqa: ARG002 - the marks of the call tell
    ) -> Mapping[str, StageSpan]:
        """By events on the device, as the host runs ahead of it; by the host's clock where both are one."""
        return time_marked(call, self.sync, *self.marks())

    def marks(self) -> tuple[Callable[[], Any], Callable[[Any, Any], float]]:
        """(sets a mark in the device's stream of work, seconds between two): events, or the host's clock."""
        if self.device.type != "cuda":
            return timers.host_marks()

        def mark() -> torch.cuda.Event:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            return event

        return mark, lambda start, end: start.elapsed_time(end) / 1000

    def count_stages(self, call: Callable[[], Any], prepared: Prepared) -> Mapping[str, Any]:  # noqa: ARG002
        from harness.worker.frameworks.torch_stage_counts import count_stages

        return count_stages(call)

    def trace_operators(
        self,
        call: Callable[[], Any],
        prepared: Prepared,  # noqa: ARG002 - torch's profiler knows
        trace: Path | None,
    ) -> Sequence[OperatorFigures]:
        from harness.worker.frameworks.torch_operators import trace_operators

        return trace_operators(call, self.sync, trace)

    def rise(self) -> Callable[[], int | None]:
        if self.device.type != "cuda":
            return resource_limits.rise()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        return lambda: torch.cuda.max_memory_allocated() - before


def cuda_events() -> timers.Read:
    """Device time of calls, each between two events of its own; before each the L2 cache is overwritten."""
    size = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    flush = torch.empty(2 * size, dtype=torch.int8, device="cuda")

    def read(call: Callable[[], Any], inner: int, keep: timers.Keep | None = None) -> float:
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(inner)]
        for start, end in events:
            flush.zero_()
            start.record()
            result = call()
            end.record()
            if keep is not None:
                keep(result)
            del result
        torch.cuda.synchronize()
        return sum(start.elapsed_time(end) for start, end in events) * 1e-3

    return read


def _empty(shapes: Array | Shapes, device: torch.device) -> Any:
    if isinstance(shapes, Array):
        return torch.empty(shapes.shape, dtype=DTYPES[shapes.dtype], device=device)
    return {name: _empty(branch, device) for name, branch in shapes.items()}


def _differentiable(leaf: torch.Tensor) -> torch.Tensor:
    return leaf.detach().requires_grad_() if leaf.is_floating_point() else leaf


def _ties(result: Any, cotangent: Any) -> Ties:
    """The parts of a result that have a backward, each with its cotangent."""
    outputs = _floating_leaves(result)
    match(cotangent, outputs)
    ties = [(out, seed.to(out.dtype)) for out, seed in zip(outputs, cotangent, strict=True)]
    ties = [(out, seed) for out, seed in ties if out.requires_grad]
    if not ties:
        raise TypeError("the result depends on no floating input, so it has no backward")
    return ties


def _floating_leaves(result: Any) -> list[torch.Tensor]:
    # Fake tensors, in a trace, are a subclass.
    array_files.expect_arrays(result, (torch.Tensor,), "torch tensors", subclasses=True)
    return [leaf for leaf in array_files.leaves(result) if leaf.is_floating_point()]


def _ones(result: Any) -> list[torch.Tensor]:
    return [torch.ones_like(output) for output in _floating_leaves(result)]


def _tensor(leaf: Any) -> torch.Tensor:
    """A copy in storage that torch allocates, with the alignment that its kernels prefer."""
    brain = leaf.dtype == ml_dtypes.bfloat16  # torch does not know numpy's
    dtype = torch.bfloat16 if brain else torch.from_numpy(np.empty(0, leaf.dtype)).dtype
    tensor = torch.empty(leaf.shape, dtype=dtype)
    _view(tensor)[...] = leaf
    return tensor


def _view(tensor: torch.Tensor) -> Any:
    """The same storage as a numpy array."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def _numpy(tensor: torch.Tensor) -> Any:
    return _view(tensor.detach().cpu().resolve_conj().resolve_neg().contiguous())


FRAMEWORK = Torch()
