"""A family of one kernel per workload, each registered twice: whatever differs between the two is noise."""

from dataclasses import dataclass

import numpy as np
from seqsweep import Array, Family, Semantics, Workload, axis, implementation, within

KERNELS = {  # what a call of it takes on two cores of a server: 0.1, 0.5, 1.5, 10 and 50 ms
    "softmax": (128, 512),
    "topk": (64, 4096),
    "attention": (8, 333),
    "product": (1024, 1024),
    "sort": (128, 8192),
}


@dataclass(frozen=True)
class KernelWorkload(Workload):
    seq: int = axis()
    kernel: str = axis("softmax")


def _shapes(w):
    rows, _ = KERNELS[w.kernel]
    inner = (64,) if w.kernel == "attention" else ()
    return {"x": Array((rows, w.seq, *inner), "f32")}


def _inputs(w, rng):
    return {"x": rng.standard_normal(_shapes(w)["x"].shape, dtype="f4")}


def _of(w):
    import torch

    return {
        "softmax": lambda x: torch.softmax(x, -1),
        "topk": lambda x: torch.topk(x, 64).values,
        "attention": lambda x: torch.softmax(x @ x.transpose(-1, -2) / 8, -1) @ x,
        "product": lambda x: x @ x.T,
        "sort": lambda x: torch.sort(x).values,
    }[w.kernel]


def _reference(w, rows):
    if w.kernel == "softmax":
        return _softmax
    if w.kernel == "topk":
        return lambda x: -np.sort(-x, axis=-1)[:, :64]
    if w.kernel == "attention":
        return lambda x: _softmax(x @ x.swapaxes(-1, -2) / 8) @ x
    return (lambda x: x @ x.T) if w.kernel == "product" else lambda x: np.sort(x, axis=-1)


def _softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


FAMILY = Family(
    name="same_twice",
    question="How often are two equal programs told apart?",
    workload=KernelWorkload,
    shapes=_shapes,
    inputs=_inputs,
    semantics={"itself": Semantics("itself", _reference, within(rel_rms=1e-5))},
)


@implementation(framework="torch", semantics="itself")
def once(w: KernelWorkload):
    """The kernel."""
    return _of(w)


@implementation(framework="torch", semantics="itself")
def again(w: KernelWorkload):
    """The same kernel."""
    return _of(w)
