"""Whether code calls torch.compile's result: a search through what a function can name (torch 2.13)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch

MOST = 10_000  # objects looked at: code that is larger keeps its compiled callables elsewhere


def reaches_compiled(function: Any) -> bool:
    """Whether a function, or what it holds or names outside of torch, is a callable of torch.compile."""
    seen, pending = dict[int, Any](), [function]
    while pending and len(seen) < MOST:
        held = pending.pop()
        if id(held) in seen:
            continue
        seen[id(held)] = held
        if getattr(held, "_is_torch_compile", False) is True or isinstance(
            held, torch._dynamo.OptimizedModule
        ):
            return True
        pending += _parts(held)
    return False


def _parts(held: Any) -> Iterator[Any]:
    if isinstance(held, FunctionType):
        if not str(held.__module__).startswith("torch."):
            yield from (cell.cell_contents for cell in held.__closure__ or () if not _is_empty(cell))
            named = _names(held.__code__)
            yield from (held.__globals__[name] for name in named if name in held.__globals__)
            yield from held.__dict__.values()
    elif isinstance(held, MethodType):
        yield from (held.__func__, held.__self__)
    elif isinstance(held, partial):
        yield from (held.func, *held.args, *held.keywords.values())
    elif isinstance(held, (list, tuple, set)):
        yield from held
    elif isinstance(held, dict):
        yield from held.values()
    elif isinstance(held, torch.nn.Module):
        yield from (held._compiled_call_impl, *held.children())


def _names(code: CodeType) -> Iterator[str]:
    """The global names of a function and of those that it defines."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_empty(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:  # a name that is assigned later
        return True
    return False
