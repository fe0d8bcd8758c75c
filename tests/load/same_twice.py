"""A family of one kernel per workload, registered twice: any difference between the two is noise."""

from dataclasses import dataclass

from seqsweep import Array, Family, Semantics, Workload, axis, implementation, within

KERNELS = {  # time of a call on two server cores: 0.1, 0.5, 1.5, 10 and 50 ms
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


FAMILY = Family(
    name="same_twice",
    question="How often are two equal programs reported as different?",
    workload=KernelWorkload,
    shapes=_shapes,
    inputs=_inputs,
    semantics={
        "itself": Semantics("itself", lambda w, rows: _of(w), within(rel_rms=1e-5), framework="torch")
    },
)


@implementation(framework="torch", semantics="itself")
def once(w: KernelWorkload):
    """The kernel."""
    return _of(w)


@implementation(framework="torch", semantics="itself")
def again(w: KernelWorkload):
    """The same kernel."""
    return _of(w)
