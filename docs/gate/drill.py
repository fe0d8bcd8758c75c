"""Plugin for testing a gate: four kernels of a few milliseconds with a known amount of additional work.

EXTRA is the fraction of rows that each kernel computes in addition to those it returns. It is 0 in the base,
and the drill edits it in the working tree. The inputs have the additional rows, so nothing else changes.
"""

from dataclasses import dataclass
from types import SimpleNamespace

from seqsweep import Array, Family, Semantics, implementation, tolerance

EXTRA = {"matmul": 0.0, "softmax": 0.0, "attend": 0.0, "select": 0.0}
SPARE = 0.25
WIDTH, HEADS, HEAD, COLUMNS, KEPT = 512, 4, 64, 4096, 64


@dataclass(frozen=True)
class DrillWorkload:
    """`seq` rows count; a fifth of them for `select`, because its rows are longer."""

    seq: int
    dtype: str = "f32"


def rows_of(w, kernel, share=None):
    """Number of rows a kernel computes, including its extra ones."""
    rows = w.seq // 5 if kernel == "select" else w.seq
    return round(rows * (1 + (EXTRA[kernel] if share is None else share)))


def shapes(w):
    many = rows_of(w, "matmul", SPARE)
    return {
        "x": Array((many, WIDTH), "f32"),
        "weight": Array((WIDTH, WIDTH), "f32"),
        "q": Array((HEADS, many, HEAD), "f32"),
        "k": Array((HEADS, w.seq, HEAD), "f32"),
        "v": Array((HEADS, w.seq, HEAD), "f32"),
        "scores": Array((rows_of(w, "select", SPARE), COLUMNS), "f32"),
    }


def inputs(w, random):
    return {name: random.standard_normal(a.shape, "f4") for name, a in shapes(w).items()}


def _matmul(w, rows):
    return lambda x, weight: x[: w.seq] @ weight


def _softmax(w, rows):
    import numpy as np

    def softmax(x):
        raised = np.exp(x[: w.seq] - x[: w.seq].max(-1, keepdims=True))
        return raised / raised.sum(-1, keepdims=True)

    return softmax


def _attend(w, rows):
    import numpy as np

    def attend(q, k, v):
        logits = q[:, : w.seq] @ k.swapaxes(1, 2) / HEAD**0.5
        raised = np.exp(logits - logits.max(-1, keepdims=True))
        return raised / raised.sum(-1, keepdims=True) @ v

    return attend


def _select(w, rows):
    import numpy as np

    return lambda scores: -np.sort(-scores[: rows_of(w, "select", 0.0)], -1)[:, :KEPT]


BOUND = tolerance({"f32": 1e-5})
FAMILY = Family(
    name="drill",
    question="does a gate find work that was really added?",
    workload=DrillWorkload,
    shapes=shapes,
    inputs=inputs,
    semantics={
        name: Semantics(name, reference, BOUND)
        for name, reference in SimpleNamespace(
            matmul=_matmul, softmax=_softmax, attend=_attend, select=_select
        ).__dict__.items()
    },
)


@implementation(framework="torch", semantics="matmul")
def matmul(w: DrillWorkload):
    """A matrix product, rows times 512 times 512."""
    rows = rows_of(w, "matmul")
    return lambda x, weight: (x[:rows] @ weight)[: w.seq]


@implementation(framework="torch", semantics="softmax")
def softmax(w: DrillWorkload):
    """Softmax over rows of 512, twenty times: memory traffic takes longer than arithmetic."""
    import torch

    rows = rows_of(w, "softmax")

    def call(x):
        for _ in range(20):
            result = torch.softmax(x[:rows], -1)
        return result[: w.seq]

    return call


@implementation(framework="torch", semantics="attend")
def attend(w: DrillWorkload):
    """Attention of a few more queries than are returned."""
    import torch

    rows = rows_of(w, "attend")
    dense = torch.nn.functional.scaled_dot_product_attention
    return lambda q, k, v: dense(q[None, :, :rows], k[None], v[None])[0, :, : w.seq]


@implementation(framework="jax", semantics="select")
def select(w: DrillWorkload):
    """The 64 largest of 4096, by XLA."""
    import jax

    rows, kept = rows_of(w, "select"), rows_of(w, "select", 0.0)
    return lambda scores: jax.lax.top_k(scores[:rows], KEPT)[0][:kept]
