"""Calls on fake tensors of a device that this torch was not built for.

`tensor[...]` and `tensor.contiguous()` set a device guard in C++ before they dispatch, which fails without
the device. The operators that they consist of set none.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

ATEN = torch.ops.aten


class NoDeviceGuards(TorchFunctionMode):
    """A mode that replaces such calls by the operators that they consist of."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if func is torch.Tensor.__getitem__:
            view, indices = _view(*args)
            return ATEN.index.Tensor(view, indices) if indices else view
        if func is torch.Tensor.__setitem__:
            tensor, index, value = args
            view, indices = _view(tensor, index)
            if indices:
                return ATEN.index_put_.default(view, indices, torch.as_tensor(value, dtype=view.dtype))
            return view.copy_(value) if isinstance(value, torch.Tensor) else view.fill_(value)
        if func is torch.Tensor.contiguous:
            order = {"memory_format": torch.contiguous_format, **given}
            return args[0] if args[0].is_contiguous(**order) else args[0].clone(**order)
        return func(*args, **given)


def _view(tensor: torch.Tensor, index: Any) -> tuple[torch.Tensor, list[Any]]:
    """(the view by the index's numbers, slices, None and `...`, the index tensors to apply to it)."""
    parts = list(index) if isinstance(index, tuple) else [index]
    taken = sum(part is not None and part is not Ellipsis for part in parts)
    at = next((place for place, part in enumerate(parts) if part is Ellipsis), len(parts))
    parts[at : at + 1] = [slice(None)] * (tensor.dim() - taken)
    axis, indices = 0, []
    for part in parts:
        if isinstance(part, int):
            tensor = tensor.select(axis, part)
            continue
        if part is None:
            tensor = tensor.unsqueeze(axis)
        elif not isinstance(part, slice):
            indices += [None] * (axis - len(indices)) + [torch.as_tensor(part, device=tensor.device)]
        elif part != slice(None):
            tensor = ATEN.slice.Tensor(tensor, axis, part.start, part.stop, part.step or 1)
        axis += 1
    return tensor, indices
