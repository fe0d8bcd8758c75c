"""FLOPs of torch's attention kernels, by visible pairs of a query and a key.

torch's own counter counts every pair, causal or not, and lacks the cpu's kernel. With grouped heads the
query's heads count, each of which computes with its group's key head.
"""

from collections.abc import Callable
from typing import Any

import torch

KERNELS = (
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
)


def pairs(rows: int, columns: int, *, causal: bool) -> int:
    """Visible pairs of a query and a key; causal attention aligns both at position 0 (top left)."""
    if not causal:
        return rows * columns
    square = min(rows, columns)
    return square * (square + 1) // 2 + (rows - square) * columns


def forward_flops(query: Any, key: Any, value: Any, *, causal: bool) -> int:
    """Two products per visible pair: scores, and weights with values. Arguments are shapes."""
    batch, heads, rows, width = query
    return 2 * batch * heads * pairs(rows, key[-2], causal=causal) * (width + value[-1])


def backward_flops(query: Any, key: Any, value: Any, *, causal: bool) -> int:
    """Five products per visible pair: the scores are computed again."""
    batch, heads, rows, width = query
    # Q·Kᵀ again, dQ and dK are as wide as the keys, dO·Vᵀ and dV
    # as the values (FlashAttention, arXiv 2205.14135).
    return 2 * batch * heads * pairs(rows, key[-2], causal=causal) * (3 * width + 2 * value[-1])


def _formula(kernel: Any, flops: Callable[..., int]) -> Callable[..., int]:
    """`flops` on a kernel's arguments, which its schema names; the counter gives tensors as shapes."""
    schema = [(argument.name, argument.default_value) for argument in kernel.default._schema.arguments]

    def count(*arguments: Any, out_shape: Any = None, **named: Any) -> int:  # noqa: ARG001 - the counter's
        given = dict(schema) | dict(zip((name for name, _ in schema), arguments, strict=False)) | named
        return flops(given["query"], given["key"], given["value"], causal=bool(given["is_causal"]))

    return count


def _formulas() -> dict[Any, Callable[..., int]]:
    formulas: dict[Any, Callable[..., int]] = {}
    for name in KERNELS:
        for suffix, flops in (("", forward_flops), ("_backward", backward_flops)):
            kernel = getattr(torch.ops.aten, name + suffix)
            formulas[kernel] = _formula(kernel, flops)
    return formulas


FORMULAS = _formulas()
