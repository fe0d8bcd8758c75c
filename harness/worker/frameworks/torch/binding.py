"""Binding of a torch callable to its inputs: the timed call, forward or by autograd."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import CellType
from typing import Any, TypeAlias, cast

import torch

from harness.catalog.arrays import prune
from harness.core.stage import BACKWARD, stage
from harness.worker import array_files
from harness.worker.frameworks.base import Call, Function, Names, require_matching
from harness.worker.frameworks.torch.arrays import floating_leaves, ones

INNER = ("__wrapped__", "__self__", "__func__")  # of a decorated function, and of a bound method
Ties: TypeAlias = list[tuple[torch.Tensor, torch.Tensor]]


def modules_of(function: Callable[..., Any]) -> list[torch.nn.Module]:
    """The outermost modules behind a callable, each once."""
    found: dict[int, Any] = {}
    waiting: list[Any] = [function]
    while waiting:
        each = waiting.pop()
        if id(each) not in found:
            found[id(each)] = each
            waiting += _behind(each)
    return [each for each in found.values() if isinstance(each, torch.nn.Module)]


def trained_parameters(function: Callable[..., Any]) -> list[torch.nn.Parameter]:
    """The parameters of its modules that require a gradient, each once."""
    parameters = (each for module in modules_of(function) for each in module.parameters())
    return list({id(each): each for each in parameters if each.requires_grad}.values())


def _behind(each: Any) -> list[Any]:
    if isinstance(each, (list, tuple)):
        return list(each)
    if isinstance(each, partial):
        return [each.func, *each.args, *each.keywords.values()]
    if isinstance(each, (torch.nn.Module, type)) or not callable(each):
        return []
    if inner := [getattr(each, name) for name in INNER if hasattr(each, name)]:
        return inner  # the closure is its decorator's
    cells = getattr(each, "__closure__", None) or ()
    closed_over = [cell.cell_contents for cell in cells if cell != CellType()]  # but not those still empty
    return [*closed_over, *getattr(each, "__dict__", {}).values()]


def bind(function: Function, names: Names, mode: str, inputs: Mapping[str, Any], cotangent: Any) -> Call:
    """The timed call. In mode `bwd` the forward runs here, untimed.

    In a trace `cotangent` is None, which stands for ones. Gradients of parameters that require them are
    computed, as training does, and left out of the result.
    """
    arguments = {name: inputs[name] for name in names}
    if mode == "fwd":
        return lambda: function(**arguments)
    arguments = array_files.map_leaves(arguments, _differentiable)
    leaves = [leaf for leaf in array_files.leaves(arguments) if leaf.requires_grad]
    sources = [*leaves, *trained_parameters(function)]

    def gradients(ties: Ties, *, keep: bool) -> Any:
        computed = torch.autograd.grad(
            [output for output, _ in ties],
            sources,
            [seed for _, seed in ties],
            retain_graph=keep,
            allow_unused=True,
        )
        pairs = zip(leaves, cast("Sequence[torch.Tensor | None]", computed), strict=False)
        by_leaf = {id(leaf): torch.zeros_like(leaf) if g is None else g for leaf, g in pairs}
        return prune(array_files.map_leaves(arguments, lambda leaf: by_leaf.get(id(leaf))))

    if mode == "bwd":
        ties = _ties(result := function(**arguments), cotangent or ones(result))

        def pullback() -> Any:
            with stage(BACKWARD):
                return {"gradients": gradients(ties, keep=True)}

        return pullback
    if cotangent is None:
        with torch.no_grad():
            cotangent = ones(function(**arguments))

    def both() -> Any:
        result = function(**arguments)
        with stage(BACKWARD):
            return {"result": result, "gradients": gradients(_ties(result, cotangent), keep=False)}

    return both


def _differentiable(leaf: torch.Tensor) -> torch.Tensor:
    return leaf.detach().requires_grad_() if leaf.is_floating_point() else leaf


def _ties(result: Any, cotangent: Any) -> Ties:
    """The parts of a result that have a backward, each with its cotangent."""
    outputs = floating_leaves(result)
    require_matching(cotangent, outputs)
    ties = [(out, seed.to(out.dtype)) for out, seed in zip(outputs, cotangent, strict=True)]
    ties = [(out, seed) for out, seed in ties if out.requires_grad]
    if not ties:
        raise TypeError("the result depends on no floating input, so it has no backward")
    return ties
