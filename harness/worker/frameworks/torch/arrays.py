"""Conversion between array descriptions, numpy arrays and torch tensors; the floating leaves of a result."""

from typing import Any

import ml_dtypes
import numpy as np
import torch

from harness.catalog.arrays import NAMES, Array, Shapes
from harness.worker import array_files

DTYPES: dict[str, torch.dtype] = {short: getattr(torch, name) for short, name in NAMES.items()}


def empty(shapes: Array | Shapes, device: torch.device) -> Any:
    """Uninitialised tensors of the described shapes and dtypes, nested like the description."""
    if isinstance(shapes, Array):
        return torch.empty(shapes.shape, dtype=DTYPES[shapes.dtype], device=device)
    return {name: empty(branch, device) for name, branch in shapes.items()}


def to_tensor(leaf: Any) -> torch.Tensor:
    """Copy an array to storage that torch allocates, with the alignment that its kernels prefer."""
    is_bf16 = leaf.dtype == ml_dtypes.bfloat16  # torch cannot convert ml_dtypes' bfloat16
    dtype = torch.bfloat16 if is_bf16 else torch.from_numpy(np.empty(0, leaf.dtype)).dtype
    tensor = torch.empty(leaf.shape, dtype=dtype)
    _view(tensor)[...] = leaf
    return tensor


def _view(tensor: torch.Tensor) -> Any:
    """A numpy array that shares the tensor's storage."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def to_numpy(tensor: torch.Tensor) -> Any:
    """A tensor as a numpy array on the host, with its memory layout; resolves lazy conjugation and negation.

    Copies nothing else.
    """
    return _view(tensor.detach().cpu().resolve_conj().resolve_neg())


def floating_leaves(result: Any) -> list[torch.Tensor]:
    """The floating leaves of a result. TypeError if it contains anything but tensors."""
    # Subclasses, because a traced result consists of fake tensors.
    array_files.expect_arrays(result, (torch.Tensor,), "torch tensors", subclasses=True)
    return [leaf for leaf in array_files.leaves(result) if leaf.is_floating_point()]


def ones(result: Any) -> list[torch.Tensor]:
    """A cotangent of ones for every floating leaf."""
    return [torch.ones_like(output) for output in floating_leaves(result)]
