"""Scratch memory of torch's operators on the cpu: what they allocate beside their results, and free again.

A trace over fake tensors sees results alone. The rules are ATen's (torch 2.13, the source beside each);
tests/worker/frameworks/torch/test_operator_scratch.py compares them with the allocator, operator by operator.
They leave out oneDNN's scratch memory for products in half precision, which depends on the processor.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch

Rule: TypeAlias = Callable[[Sequence[Any], Mapping[str, Any], Any, int], int]
aten = torch.ops.aten
BLOCK = 60  # side of the blocks in which a matrix is transposed (native/Copy.cpp)
NAIVE_PRODUCT = 400  # a product of fewer multiplications needs no BLAS (native/LinearAlgebra.cpp)
ONEDNN_PRODUCT = 16**3  # larger ones in half precision are oneDNN's (native/mkldnn/Matmul.cpp)
ONEDNN = "what oneDNN takes for products in half precision depends on the processor: it is in no plan"
PRODUCTS = {aten.mm, aten.addmm, aten.bmm, aten.baddbmm, aten.mv, aten.addmv}
HALVES = {torch.bfloat16: "_is_mkldnn_bf16_supported", torch.float16: "_is_mkldnn_fp16_supported"}
# (least number of queries, queries per block) and keys per block (native/cpu/FlashAttentionKernel.cpp).
QUERIES, KEYS = ((768, 256), (192, 64), (0, 32)), 512


def scratch_bytes(
    func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any, threads: int
) -> int:
    """The peak bytes that one call of an operator allocates beside its results, on `threads` threads."""
    rule = RULES.get(func._overloadpacket)
    return rule(args, kwargs, result, threads) if rule else 0


def is_onednn_product(func: Any, args: Sequence[Any]) -> bool:
    """Whether it is a product in half precision, for which oneDNN's scratch memory is not known."""
    first = args[0] if args else None
    return func._overloadpacket in PRODUCTS and isinstance(first, torch.Tensor) and first.dtype in HALVES


def _nbytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _block(source: torch.Tensor) -> int:
    """The buffer of a transposed matrix's copy."""
    transposed = source.ndim == 2 and source.stride() == (1, source.shape[0])
    return BLOCK**2 * source.element_size() if transposed and source.numel() >= BLOCK**2 else 0


def _contiguous(*tensors: torch.Tensor) -> int:
    """The peak while contiguous copies are made of those that are not contiguous, one after the other."""
    held = most = 0
    for tensor in tensors:
        if not tensor.is_contiguous():
            held += _nbytes(tensor)
            most = max(most, held + _block(tensor))
    return most


def _copy(args: Sequence[Any], _: Any, result: torch.Tensor, __: int) -> int:
    return _block(args[1]) if args[1].dtype == result.dtype and result.is_contiguous() else 0


def _clone(args: Sequence[Any], _: Any, result: torch.Tensor, __: int) -> int:
    return _block(args[0]) if result.is_contiguous() else 0


def _promotion(args: Sequence[Any], _: Any, result: torch.Tensor, __: int) -> int:
    """Operands cast to the dtype of the computation (native/TensorIterator.cpp, `compute_types`)."""
    operands = [arg for arg in args[:2] if isinstance(arg, torch.Tensor)]
    if all(operand.dtype == result.dtype for operand in operands):
        return 0
    compares = result.dtype == torch.bool or result is operands[0]
    common = torch.result_type(*args[:2]) if compares else result.dtype
    casts = [operand for operand in operands if operand.dtype != common]
    if result is operands[0] and result.dtype != common:
        casts.append(result)  # in place: read, and written back
    return sum(cast.numel() for cast in casts) * common.itemsize


def _selection(args: Sequence[Any], _: Any, result: torch.Tensor, __: int) -> int:
    sides = [side for side in args[1:] if isinstance(side, torch.Tensor) and side.dtype != result.dtype]
    return sum(side.numel() for side in sides) * result.element_size()


def _reduction(args: Sequence[Any], _: Any, result: torch.Tensor, __: int) -> int:
    """The operand cast to the result's dtype (native/ReduceOpsUtils.h, `make_reduction`)."""
    return 0 if args[0].dtype == result.dtype else args[0].numel() * result.element_size()


def _mean(args: Sequence[Any], kwargs: Mapping[str, Any], result: torch.Tensor, threads: int) -> int:
    """In half precision the operand and the sums in f32 (native/ReduceOps.cpp, `mean_cpu_out`)."""
    if result.dtype in HALVES:
        return 4 * (args[0].numel() + result.numel())
    return _reduction(args, kwargs, result, threads)


def _blas_ready(matrix: torch.Tensor) -> bool:
    (rows, columns), (down, right) = matrix.shape, matrix.stride()
    return (down == 1 and right >= max(1, rows)) or (right == 1 and down >= max(1, columns))


def _product(left: torch.Tensor, right: torch.Tensor) -> int:
    """Copies of operands that BLAS cannot read (native/LinearAlgebra.cpp, `addmm_impl_cpu_`)."""
    return sum(_nbytes(matrix) for matrix in (left, right) if not _blas_ready(matrix))


def _matrix_product(args: Sequence[Any], _: Any, __: Any, ___: int) -> int:
    return _product(*[arg for arg in args if isinstance(arg, torch.Tensor)][-2:])


def _batched_product(args: Sequence[Any], _: Any, __: Any, ___: int) -> int:
    """The whole batch in one call of MKL or oneDNN, else item by item (`bmm_out_or_baddbmm_`)."""
    left, right = [arg for arg in args if isinstance(arg, torch.Tensor)][-2:]
    once = left.shape[1] * left.shape[2] * right.shape[2]
    support = HALVES.get(left.dtype)
    if support and left.shape[0] * once > ONEDNN_PRODUCT and getattr(torch.ops.mkldnn, support)():
        return sum(_nbytes(side) for side in (left, right) if not _dense(side))
    if once < NAIVE_PRODUCT or (not support and all(map(_batch_ready, (left, right)))):
        return 0
    return _product(left[0], right[0])


def _dense(batch: torch.Tensor) -> bool:
    _, rows, columns = batch.shape
    return batch.is_contiguous() or batch.stride() == (rows * columns, 1, rows)


def _batch_ready(batch: torch.Tensor) -> bool:
    (_, rows, columns), (_, down, right) = batch.shape, batch.stride()
    return (right == 1 and (rows == 1 or down >= columns)) or (down == 1 and (columns == 1 or right >= rows))


def _safe_softmax(args: Sequence[Any], _: Any, result: torch.Tensor, __: int) -> int:
    """Masks of the -inf elements and of the all -inf rows (native/transformers/attention.cpp)."""
    rows = result.numel() // result.shape[args[1]] if result.numel() else 0
    return max(_contiguous(args[0]), result.numel() + rows)


def _flash_block(query: torch.Tensor, key: torch.Tensor) -> tuple[int, int]:
    queries, keys = query.shape[2], key.shape[2]
    return min(queries, next(size for least, size in QUERIES if queries >= least)), min(keys, KEYS)


def _flash(args: Sequence[Any], _: Any, __: Any, threads: int) -> int:
    """Per thread: a block's scores, their maxima and sums, and its result."""
    query, key = args[:2]
    rows, columns = _flash_block(query, key)
    wide = rows * (columns + 2 + query.shape[3])
    return threads * (wide * _wide(query) + rows * columns * _narrow(query))


def _flash_backward(args: Sequence[Any], _: Any, __: Any, threads: int) -> int:
    """Per thread a block's scores and their gradients, row sums, and the cotangent made contiguous."""
    cotangent, query, key = args[:3]
    rows, columns = _flash_block(query, key)
    busy = min(threads, math.prod(query.shape[:2]))
    blocks = 2 * threads * rows * columns * (_wide(query) + _narrow(query))
    return blocks + busy * rows * _wide(query) + _contiguous(cotangent.transpose(1, 2))


def _wide(tensor: torch.Tensor) -> int:
    return max(4, tensor.element_size())


def _narrow(tensor: torch.Tensor) -> int:
    return tensor.element_size() if tensor.element_size() < 4 else 0


def _sort(args: Sequence[Any], kwargs: Mapping[str, Any], _: Any, __: int) -> int:
    """The int64 indices along the axis (native/Sorting.cpp)."""
    axis = kwargs.get("dim", args[1] if len(args) > 1 and type(args[1]) is int else -1)
    return 8 * args[0].shape[axis] if args[0].ndim else 0


def _rules(rules: Mapping[str, Rule]) -> dict[Any, Rule]:
    return {getattr(aten, name): rule for names, rule in rules.items() for name in names.split()}


RULES = _rules(
    {
        "_safe_softmax": _safe_softmax,
        "_scaled_dot_product_flash_attention_for_cpu": _flash,
        "_scaled_dot_product_flash_attention_for_cpu_backward": _flash_backward,
        # native/SoftMax.cpp
        "_softmax _log_softmax": lambda args, *_: _contiguous(args[0]),
        "_softmax_backward_data _log_softmax_backward_data": lambda args, *_: _contiguous(*args[:2]),
        "add add_ sub sub_ mul mul_ div div_ maximum minimum eq ne lt le gt ge "
        "bitwise_and bitwise_or bitwise_and_ bitwise_or_ bitwise_xor": _promotion,
        "bmm baddbmm": _batched_product,
        "clone": _clone,
        "copy_": _copy,
        "mean": _mean,
        "mm addmm": _matrix_product,
        "sort": _sort,
        "sum cumsum": _reduction,
        # int64 indices along the axis, if windows overlap (native/UnfoldBackward.cpp)
        "unfold_backward": lambda args, *_: 8 * args[1][args[2]] if args[4] < args[3] else 0,
        "where": _selection,
    }
)
