"""Operators over fake tensors, answered faster than FakeTensorMode does.

For each operator the mode looks for a decomposition, constants, symbolic sizes and an answer that it kept,
which takes some 200 µs, twice that where the sizes are new. Most need only their kernel for the meta device,
which knows shapes, strides and storages; and one that makes new tensors makes the same again from the same
shapes. Constants, operators not named here and whatever is unclear are left to the mode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, in_kernel_invocation_manager

META = torch.device("meta")


def _operators(names: str) -> frozenset[Any]:
    found: set[Any] = set()
    for name in names.split():
        packet, _, overload = name.partition(".")
        found.add(getattr(getattr(torch.ops.aten, packet), overload or "default"))
    return frozenset(found)


RESHAPED = _operators("view _unsafe_view")
MADE = _operators("arange arange.start arange.start_step new_zeros new_full full ones zeros")
IN_PLACE = _operators("add_.Tensor mul_.Tensor addcmul_ masked_fill_.Scalar relu_ copy_ fill_.Scalar zero_")
VIEWS = _operators(
    "permute unsqueeze transpose.int squeeze.dim squeeze.dims expand slice.Tensor select.int detach alias "
    "unfold split.Tensor split_with_sizes unbind.int t view_as_complex view_as_real"
)
FRESH = _operators(
    "bmm mm add.Tensor sub.Tensor mul.Tensor mul.Scalar div.Tensor div.Scalar neg exp "
    "bitwise_and.Tensor bitwise_or.Tensor bitwise_not eq.Tensor eq.Scalar ne.Tensor ne.Scalar lt.Tensor "
    "lt.Scalar le.Tensor le.Scalar gt.Tensor gt.Scalar ge.Tensor ge.Scalar maximum masked_fill.Scalar triu "
    "_softmax _softmax_backward_data sum.dim_IntList mean.dim any.dim topk sort cumsum cat stack "
    "index_select slice_backward unfold_backward"
)
KEPT = FRESH | _operators(
    "clone clamp floor_divide rsub.Scalar index_add abs  constant_pad_nd index.Tensor index_put repeat "
    "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward"
)
DIRECT = RESHAPED | MADE | IN_PLACE | VIEWS | FRESH


class Fakes:
    """Calls operators on the fake tensors of one mode, under which it is used."""

    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode = mode
        self.states: dict[torch.device, dict[str, Any]] = {}
        self.strides: dict[Any, tuple[Any, Any]] = {}
        self.made: dict[Any, Any] = {}

    def call(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What `func` returns, as the mode would have it."""
        kept = func in KEPT
        device = self._device(func, args, kwargs) if kept or func in DIRECT else None
        if device is None:
            return func(*args, **kwargs)
        if kept:
            return self._result_like(func, args, kwargs, device)
        if func in RESHAPED and not all(size > 1 for size in args[1]):
            return self._view(func, args[0], args[1], device)
        return self._direct(func, args, kwargs, device)

    def _direct(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], device: torch.device) -> Any:
        named = {**kwargs, "device": META} if func in MADE else kwargs
        with in_kernel_invocation_manager(self.mode):
            result = func(*args, **named)
        return self._wrap(result, device)

    def _result_like(
        self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], device: torch.device
    ) -> Any:
        """New tensors of the form that the same operator made of arguments of the same form."""
        key = (func, _form(args), _form(tuple(kwargs.items())))
        known = self.made.get(key)
        if known is None:
            direct = func in DIRECT
            result = self._direct(func, args, kwargs, device) if direct else func(*args, **kwargs)
            self.made[key] = _layout(result)
            return result
        with in_kernel_invocation_manager(self.mode):
            if type(known) is tuple:
                result = torch.empty_strided(*known[:2], dtype=known[2], device=META)
            else:
                result = tuple(torch.empty_strided(*one[:2], dtype=one[2], device=META) for one in known)
        return self._wrap(result, device)

    def _view(self, func: Any, given: Any, sizes: Any, device: torch.device) -> Any:
        """A view with an axis of 1: its stride, which says nothing, is the mode's, not the kernel's."""
        key = (given.shape, given.stride(), tuple(sizes))
        if key not in self.strides:
            result = func(given, sizes)
            self.strides[key] = tuple(result.shape), result.stride()
            return result
        with in_kernel_invocation_manager(self.mode):
            result = given.as_strided(*self.strides[key], given.storage_offset())
        return self._wrap(result, device)

    def _device(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.device | None:
        """Where the result lies; None where that, or the result, is not plain to see."""
        found: torch.device | None = None
        for tensor in _tensors((*args, *kwargs.values())):
            if type(tensor) is not FakeTensor or tensor.constant is not None:
                return None
            if found not in {None, tensor.fake_device} or (func in KEPT and not tensor.ndim):
                return None  # a tensor without axes may stand for a number, whose dtype counts for less
            found = tensor.fake_device
        if func in MADE:
            asked = kwargs.get("device")
            return found if asked is None else torch.device(asked)
        return found

    def _wrap(self, result: Any, device: torch.device) -> Any:
        if isinstance(result, torch.Tensor):
            return result if type(result) is FakeTensor else self._fake(result, device)
        if type(result) in {list, tuple}:
            return type(result)(self._wrap(part, device) for part in result)
        return result

    def _fake(self, meta: torch.Tensor, device: torch.device) -> torch.Tensor:
        """As FakeTensor's own constructor, which checks for each what is the same for all of a device."""
        state = self.states.get(device)
        if state is None:
            made = FakeTensor(self.mode, meta, device)
            self.states[device] = dict(vars(made))
            return made
        make: Any = torch.Tensor._make_subclass
        made = make(FakeTensor, meta, False, dispatch_device=True, device_for_backend_keys=device)
        vars(made).update(state)
        return made


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    parts = (part for value in values for part in (value if type(value) in {list, tuple} else (value,)))
    return [part for part in parts if isinstance(part, torch.Tensor)]


def _form(value: Any) -> Any:
    """What of an argument a result's form may depend on; 1, 1.0 and True differ."""
    if isinstance(value, torch.Tensor):
        return value.dtype, value.shape, value.stride()
    if isinstance(value, (list, tuple)):
        return tuple([_form(part) for part in value])
    return type(value), value


def _layout(result: Any) -> Any:
    """(shape, stride, dtype) of a tensor, or a list of them; None where some are not tensors of their own."""
    if isinstance(result, torch.Tensor):
        last = sum((size - 1) * stride for size, stride in zip(result.shape, result.stride(), strict=True))
        own = result.numel() and result.untyped_storage().nbytes() == (last + 1) * result.element_size()
        return (tuple(result.shape), result.stride(), result.dtype) if own else None
    if type(result) is not tuple:
        return None
    parts = [_layout(part) for part in result]
    return None if None in parts or any(type(part) is list for part in parts) else parts
