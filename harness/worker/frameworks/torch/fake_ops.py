"""Fast path for operators over fake tensors, around FakeTensorMode's own dispatch.

For each operator the mode checks for a decomposition, constants, symbolic sizes and a cached answer, which
takes some 200 µs, twice that for new sizes. Most operators need only their meta kernel, which computes
shapes, strides and storages; and the layout of new tensors depends only on the arguments' layouts, so it is
cached. Constants, operators not listed here and unclear cases go to the mode.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, in_kernel_invocation_manager

META = torch.device("meta")


def _operators(names: str) -> frozenset[Any]:
    operators: set[Any] = set()
    for name in names.split():
        packet, _, overload = name.partition(".")
        operators.add(getattr(getattr(torch.ops.aten, packet), overload or "default"))
    return frozenset(operators)


RESHAPED = _operators("view _unsafe_view")
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
IN_PLACE = _operators("addcmul_ copy_ where.self_out add_.Tensor mul_.Tensor div_.Tensor")
MADE_ON_DEVICE = _operators("arange arange.start arange.start_step")  # without tensor arguments
KEPT = (
    FRESH
    | MADE_ON_DEVICE
    | _operators(
        "clone clamp floor_divide rsub.Scalar index_add abs constant_pad_nd index.Tensor index_put repeat "
        "new_zeros new_full new_empty where.self "
        "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward"
    )
)
DIRECT = RESHAPED | VIEWS | FRESH


class Fakes:
    """Calls operators on fake tensors of one mode, which must be entered."""

    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode = mode
        self.states: dict[torch.device, dict[str, Any]] = {}
        self.strides: dict[Any, tuple[Any, Any]] = {}
        self.made: dict[Any, Any] = {}
        self.writes: set[Any] = set()

    def call(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of `func`, identical to the mode's."""
        cacheable = func in KEPT
        known = cacheable or func in DIRECT or func in IN_PLACE
        device = self._device(func, args, kwargs) if known else None
        if device is None:
            return func(*args, **kwargs)
        if func in IN_PLACE:
            return self._write(func, args, kwargs)
        if cacheable:
            return self._result_like(func, args, kwargs, device)
        if func in RESHAPED and not all(size > 1 for size in args[1]):
            return self._view(func, args[0], args[1], device)
        return self._direct(func, args, kwargs, device)

    def _direct(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], device: torch.device) -> Any:
        with in_kernel_invocation_manager(self.mode):
            result = func(*args, **kwargs)
        return self._wrap(result, device)

    def _result_like(
        self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], device: torch.device
    ) -> Any:
        """New tensors in the layout that the same operator gave for arguments of the same form."""
        key = (func, _form(args), _form(tuple(kwargs.items())))
        layout = self.made.get(key)
        if layout is None:
            direct = func in DIRECT
            result = self._direct(func, args, kwargs, device) if direct else func(*args, **kwargs)
            self.made[key] = _layout(result)
            return result
        with in_kernel_invocation_manager(self.mode):
            if type(layout) is tuple:
                result = torch.empty_strided(*layout[:2], dtype=layout[2], device=META)
            else:
                result = tuple(torch.empty_strided(*part[:2], dtype=part[2], device=META) for part in layout)
        return self._wrap(result, device)

    def _write(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The tensor that is written into; unchecked once a write of this form has kept its layout."""
        target = kwargs.get("out", args[0])
        form = _form(target)
        key = (func, _form(args), _form(tuple(kwargs.items())))
        if key in self.writes:
            return target
        result = func(*args, **kwargs)
        if result is target and _form(result) == form:
            self.writes.add(key)
        return result

    def _view(self, func: Any, tensor: Any, sizes: Any, device: torch.device) -> Any:
        """A view with an axis of size 1, whose stride is arbitrary: that of the mode, not of the kernel."""
        key = (tensor.shape, tensor.stride(), tuple(sizes))
        if key not in self.strides:
            result = func(tensor, sizes)
            self.strides[key] = tuple(result.shape), result.stride()
            return result
        with in_kernel_invocation_manager(self.mode):
            result = tensor.as_strided(*self.strides[key], tensor.storage_offset())
        return self._wrap(result, device)

    def _device(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.device | None:
        """The result's device; None where it or the result is unclear, and the mode must decide."""
        wanted = kwargs.get("device")
        device: torch.device | None = wanted if func in MADE_ON_DEVICE else None
        for tensor in _tensors((*args, *kwargs.values())):
            if type(tensor) is not FakeTensor or tensor.constant is not None:
                return None
            if device not in {None, tensor.fake_device} or (func in KEPT and not tensor.ndim):
                return None  # type promotion treats a tensor without axes like a number
            device = tensor.fake_device
        return device if wanted in {None, device} else None

    def _wrap(self, result: Any, device: torch.device) -> Any:
        if isinstance(result, torch.Tensor):
            return result if type(result) is FakeTensor else self._fake(result, device)
        if type(result) in {list, tuple}:
            return type(result)(self._wrap(part, device) for part in result)
        return result

    def _fake(self, meta: torch.Tensor, device: torch.device) -> torch.Tensor:
        """A FakeTensor like its constructor's, without the checks that repeat for each of a device."""
        state = self.states.get(device)
        if state is None:
            tensor = FakeTensor(self.mode, meta, device)
            self.states[device] = dict(vars(tensor))
            return tensor
        make: Any = torch.Tensor._make_subclass
        tensor = make(FakeTensor, meta, False, dispatch_device=True, device_for_backend_keys=device)
        vars(tensor).update(state)
        return tensor


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    parts = (part for value in values for part in (value if type(value) in {list, tuple} else (value,)))
    return [part for part in parts if isinstance(part, torch.Tensor)]


def _form(value: Any) -> Any:
    """The part of an argument that a result's layout may depend on; 1, 1.0 and True differ."""
    if isinstance(value, torch.Tensor):
        return value.dtype, value.shape, value.stride()
    if isinstance(value, (list, tuple)):
        return tuple([_form(part) for part in value])
    return type(value), value


def _layout(result: Any) -> Any:
    """(shape, stride, dtype) of a tensor, or a list of them; None where one shares or pads its storage."""
    if isinstance(result, torch.Tensor):
        last = sum((size - 1) * stride for size, stride in zip(result.shape, result.stride(), strict=True))
        owns_storage = (
            result.numel() and result.untyped_storage().nbytes() == (last + 1) * result.element_size()
        )
        return (tuple(result.shape), result.stride(), result.dtype) if owns_storage else None
    if type(result) is not tuple:
        return None
    parts = [_layout(part) for part in result]
    return None if None in parts or any(type(part) is list for part in parts) else parts
