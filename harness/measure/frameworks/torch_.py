"""torch, eager, on the cpu or CUDA: figures from a trace over fake tensors, time from the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import torch

from harness.catalog.arrays import Array, Shapes
from harness.measure import timers, trees
from harness.measure.frameworks import Patience, Prepared, torch_trace
from harness.spec.errors import Unsupported

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


def preload() -> None:
    """Load what the first trace loads; fake tensors compute nothing and start no thread."""
    torch_trace.warm()


class Torch:
    device: torch.device = torch.device("cpu")

    def start(self, device: str, threads: int, *, wide: bool) -> None:  # noqa: ARG002 - always wide
        if device == "cuda" and not torch.cuda.is_available():
            raise Unsupported(
                "torch sees no CUDA device here; run on a machine that has one, "
                "with pip install 'seqsweep[cuda]'"
            )
        if device not in {"cpu", "cuda"}:
            raise Unsupported(f"torch runs on the cpu or CUDA, not on {device}")
        torch.set_num_threads(threads)
        self.device = torch.device(device)
        if device == "cuda":
            torch.cuda.init()

    def prepare(
        self,
        function: Callable[..., Any],
        names: tuple[str, ...],
        shapes: Shapes,
        mode: str,
        patience: Patience,
    ) -> Prepared:
        torch.set_grad_enabled(mode != "fwd")

        def fake() -> Mapping[str, Any]:
            return {name: _empty(shapes[name], self.device) for name in names}

        def bind(inputs: Mapping[str, Any], cotangent: Any) -> Callable[[], Any]:
            return self.bind(function, names, mode, inputs, cotangent)

        return Prepared(bind, torch_trace.figures(bind, fake, patience))

    def bind(
        self,
        function: Callable[..., Any],
        names: tuple[str, ...],
        mode: str,
        inputs: Mapping[str, Any],
        cotangent: Any,
    ) -> Callable[[], Any]:
        """The timed call; `cotangent` None stands for ones of the result's shape (in a trace)."""
        arguments = {name: inputs[name] for name in names}
        if mode == "fwd":
            return lambda: function(**arguments)
        arguments = trees.map_leaves(arguments, _differentiable)
        leaves = [leaf for leaf in trees.leaves(arguments) if leaf.requires_grad]

        def seed_for(result: Any) -> list[Any]:
            outputs = trees.leaves(result)
            if cotangent is None:
                return [torch.ones_like(output) for output in outputs]
            return [seed.to(out.dtype) for seed, out in zip(trees.leaves(cotangent), outputs, strict=True)]

        def gradients(result: Any, seed: list[Any], *, keep: bool) -> Any:
            found = torch.autograd.grad(
                trees.leaves(result), leaves, seed, retain_graph=keep, allow_unused=True
            )
            return _named(
                arguments, [g if g is not None else torch.zeros_like(x) for g, x in _zip(found, leaves)]
            )

        if mode == "bwd":
            result = function(**arguments)
            seed = seed_for(result)
            return lambda: {"gradients": gradients(result, seed, keep=True)}

        def both() -> Any:
            result = function(**arguments)
            return {"result": result, "gradients": gradients(result, seed_for(result), keep=False)}

        return both

    def put(self, tree: Any) -> Any:
        return trees.map_leaves(tree, lambda leaf: _tensor(leaf).to(self.device, copy=True))

    def refill(self, target: Any, source: Any) -> Any:
        with torch.no_grad():
            for mine, theirs in zip(trees.leaves(target), trees.leaves(source), strict=True):
                mine.copy_(_tensor(theirs))
        return target

    def get(self, tree: Any) -> Any:
        return trees.map_leaves(tree, _numpy)

    def sync(self, result: Any) -> None:  # noqa: ARG002
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def timer(self) -> tuple[str, str, Callable[[Callable[[], Any], int], float]]:
        if self.device.type == "cuda":
            return "cuda_events", "flushed", cuda_events()
        return "wall", "rotated", timers.wall(self.sync)

    def high_water(self) -> int | None:
        return torch.cuda.max_memory_allocated() if self.device.type == "cuda" else None


def cuda_events() -> Callable[[Callable[[], Any], int], float]:
    """Device time between two events; the L2 cache is overwritten before every reading."""
    size = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    flush = torch.empty(2 * size, dtype=torch.int8, device="cuda")
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def read(call: Callable[[], Any], inner: int) -> float:
        flush.zero_()
        start.record()
        for _ in range(inner):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3

    return read


def _zip(first: Any, second: Any) -> Any:
    return zip(first, second, strict=True)


def _empty(shapes: Array | Shapes, device: torch.device) -> Any:
    if isinstance(shapes, Array):
        return torch.empty(shapes.shape, dtype=DTYPES[shapes.dtype], device=device)
    return {name: _empty(branch, device) for name, branch in shapes.items()}


def _differentiable(leaf: torch.Tensor) -> torch.Tensor:
    return leaf.detach().requires_grad_() if leaf.is_floating_point() else leaf


def _named(arguments: Any, gradients: list[Any]) -> Any:
    """Gradients under their inputs' names; inputs that have none are left out."""
    remaining = iter(gradients)

    def walk(tree: Any) -> Any:
        if isinstance(tree, Mapping):
            kept = {name: walk(branch) for name, branch in tree.items()}
            return {name: branch for name, branch in kept.items() if branch is not None}
        return next(remaining) if tree.requires_grad else None

    return walk(arguments)


def _tensor(leaf: Any) -> torch.Tensor:
    array = np.array(leaf)
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _numpy(tensor: Any) -> Any:
    if not isinstance(tensor, torch.Tensor):
        return np.asarray(tensor)
    host = tensor.detach().cpu().contiguous()
    if host.dtype == torch.bfloat16:
        return host.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return host.numpy()


FRAMEWORK = Torch()
