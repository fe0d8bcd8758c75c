"""bf16 arithmetic for Triton's interpreter, which stores bf16 as uint16.

Up to Triton 3.9, the interpreter computes with these integers, and rounds f32 to bf16 toward zero. A GPU
rounds to nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle


def interpret_bf16_by_value() -> None:
    """Patch casts, operators and products of bf16 tensors in the interpreter to compute in f32."""
    cast, binary, unary, product = (
        getattr(InterpreterBuilder, name) for name in ("cast_impl", "binary_op", "unary_op", "create_dot")
    )

    def cast_impl(self: Any, src: Any, dst_type: Any) -> Any:
        if dst_type.scalar != tl.bfloat16:
            return cast(self, _widen(src), dst_type)
        return src if src.dtype.scalar == tl.bfloat16 else _narrow(cast(self, src, tl.float32))

    def create_fp_to_fp(self: Any, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
        if tl.bfloat16 in (src.dtype.scalar, dst_type.scalar):
            return cast_impl(self, src, dst_type)
        return fp_to_fp(self, src, dst_type, rounding_mode)

    def binary_op(self: Any, lhs: Any, rhs: Any, op: Callable[..., Any]) -> Any:
        if not _is_bf16(lhs):
            return binary(self, lhs, rhs, op)
        result = binary(self, _widen(lhs), _widen(rhs), op)
        if result.data.dtype == np.bool_:  # the handle of a comparison has the operands' dtype
            return TensorHandle(result.data, tl.bfloat16)
        return _narrow(result)

    def unary_op(self: Any, arg: Any, op: Callable[..., Any]) -> Any:
        result = unary(self, _widen(arg), op)
        return _narrow(result) if _is_bf16(arg) else result

    def create_dot(self: Any, a: Any, b: Any, d: Any, *options: Any) -> Any:
        return product(self, _widen(a), _widen(b), d, *options)

    fp_to_fp = InterpreterBuilder.create_fp_to_fp
    for replacement in (cast_impl, create_fp_to_fp, binary_op, unary_op, create_dot):
        setattr(InterpreterBuilder, replacement.__name__, replacement)


def _is_bf16(handle: Any) -> bool:
    return handle.dtype.scalar == tl.bfloat16 and handle.data.dtype == np.uint16


def _widen(handle: Any) -> Any:
    if not _is_bf16(handle):
        return handle
    return TensorHandle((handle.data.astype(np.uint32) << 16).view(np.float32), tl.float32)


def _narrow(handle: Any) -> Any:
    """Round f32 to bf16, to nearest even, and preserve NaN."""
    bits = np.ascontiguousarray(handle.data, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet = np.where(np.isnan(handle.data), (bits >> 16) | 0x40, rounded)
    return TensorHandle(quiet.astype(np.uint16), tl.bfloat16)
