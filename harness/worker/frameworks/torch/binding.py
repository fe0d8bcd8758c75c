"""Binds a torch callable to its inputs and returns the timed call, forward or backward by autograd."""

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
Pairs: TypeAlias = list[tuple[torch.Tensor, torch.Tensor]]


def modules_of(function: Callable[..., Any]) -> list[torch.nn.Module]:
    """The outermost modules that a callable wraps or closes over, each once."""
    found: dict[int, Any] = {}
    pending: list[Any] = [function]
    while pending:
        each = pending.pop()
        if id(each) not in found:
            found[id(each)] = each
            pending += _referenced(each)
    return [each for each in found.values() if isinstance(each, torch.nn.Module)]


def trained_parameters(function: Callable[..., Any]) -> list[torch.nn.Parameter]:
    """The parameters of a callable's modules that require a gradient, each once."""
    parameters = (each for module in modules_of(function) for each in module.parameters())
    return list({id(each): each for each in parameters if each.requires_grad}.values())


def _referenced(each: Any) -> list[Any]:
    if isinstance(each, (list, tuple)):
        return list(each)
    if isinstance(each, partial):
        return [each.func, *each.args, *each.keywords.values()]
    if isinstance(each, (torch.nn.Module, type)) or not callable(each):
        return []
    if inner := [getattr(each, name) for name in INNER if hasattr(each, name)]:
        return inner  # the closure belongs to the decorator
    cells = getattr(each, "__closure__", None) or ()
    closed_over = [cell.cell_contents for cell in cells if cell != CellType()]  # without empty cells
    return [*closed_over, *getattr(each, "__dict__", {}).values()]


def bind(function: Function, names: Names, mode: str, inputs: Mapping[str, Any], cotangent: Any) -> Call:
    """The timed call. In mode `bwd` the forward runs during binding, untimed.

    In a trace `cotangent` is None, which means ones. Gradients of parameters that require them are computed,
    as in training, but are not part of the result.
    """
    arguments = {name: inputs[name] for name in names}
    if mode == "fwd":
        return lambda: function(**arguments)
    arguments = array_files.map_leaves(arguments, _differentiable)
    leaves = [leaf for leaf in array_files.leaves(arguments) if leaf.requires_grad]
    sources = [*leaves, *trained_parameters(function)]

    def gradients(pairs: Pairs, *, keep: bool) -> Any:
        computed = torch.autograd.grad(
            [output for output, _ in pairs],
            sources,
            [seed for _, seed in pairs],
            retain_graph=keep,
            allow_unused=True,
        )
        found = zip(leaves, cast("Sequence[torch.Tensor | None]", computed), strict=False)
        by_leaf = {id(leaf): torch.zeros_like(leaf) if g is None else g for leaf, g in found}
        return prune(array_files.map_leaves(arguments, lambda leaf: by_leaf.get(id(leaf))))

    if mode == "bwd":
        pairs = _pair(result := function(**arguments), cotangent or ones(result))

        def pullback() -> Any:
            with stage(BACKWARD):
                return {"gradients": gradients(pairs, keep=True)}

        return pullback
    if cotangent is None:
        with torch.no_grad():
            cotangent = ones(function(**arguments))

    def both() -> Any:
        result = function(**arguments)
        with stage(BACKWARD):
            return {"result": result, "gradients": gradients(_pair(result, cotangent), keep=False)}

    return both


def _differentiable(leaf: torch.Tensor) -> torch.Tensor:
    return leaf.detach().requires_grad_() if leaf.is_floating_point() else leaf


def _pair(result: Any, cotangent: Any) -> Pairs:
    """The leaves of a result that have a backward, each with its cotangent."""
    outputs = floating_leaves(result)
    require_matching(cotangent, outputs)
    pairs = [(out, seed.to(out.dtype)) for out, seed in zip(outputs, cotangent, strict=True)]
    pairs = [(out, seed) for out, seed in pairs if out.requires_grad]
    if not pairs:
        raise TypeError("the result does not depend on a floating input, so it has no backward")
    return pairs
