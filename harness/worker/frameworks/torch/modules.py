"""The modules behind a callable: what it is, wraps, has bound, closes over or holds as an attribute."""

from collections.abc import Callable
from functools import partial
from types import CellType
from typing import Any

import torch

INNER = ("__wrapped__", "__self__", "__func__")  # of a decorated function, and of a bound method


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
