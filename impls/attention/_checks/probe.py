"""Probes for the checks: small workloads, and values that reveal which keys were read.

A value that is 1 at one key and 0 elsewhere returns that key's weight. A gate of 1 for one branch shows only
that branch. If logits are nearly equal, so are the weights of all keys read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from harness import Trial, cast

from .._bounds import FORWARD
from .._inputs import shapes
from ..workload import AttentionWorkload

LONGEST = 4096  # length up to which checks call the case; longer ones show nothing more at seconds per call
BLOCK = 128  # largest block of a probe: that of the kernels that MSLK uses
BLOCKS = 12  # of a probe: three tiles of four
READ = 128  # least number of weights that one copy reveals
SPREAD = 0.3  # of logits that are nearly equal: weights then differ by a factor of 1.35
ONCE = 1.5  # a key read once weighs less than this times the lightest in its row, one read twice more
SLACK = 0.05  # of a sum of weights in half precision
BEST_FIRST = (1, 6, 10, 3, 8, 4, 0, 11, 2, 7, 5, 9)  # blocks by score; no two neighbours are picked together
COMPRESSED, SELECTED, WINDOW = range(3)


def short(w: AttentionWorkload) -> bool:
    return w.seq <= LONGEST


def single(w: AttentionWorkload) -> bool:
    """Whether the case is short and has one causal sequence per row."""
    return short(w) and w.causal and not w.varlen


def probe(w: AttentionWorkload, *, blocks: int = BLOCKS, **fields: Any) -> AttentionWorkload:
    """A small workload with the case's dtype, head width and, up to `BLOCK`, block size."""
    block = min(w.block, BLOCK)
    base = replace(
        w,
        batch=1,
        seq=blocks * block,
        heads=2,
        kv_heads=1,
        causal=True,
        block=block,
        selected=3,
        window=block,
        gated=True,
        varlen=False,
        lengths="uniform",
        tile=4 * block,
    )
    return replace(base, **fields)


def reading(w: AttentionWorkload, **fields: Any) -> AttentionWorkload:
    """A probe with heads so wide that few copies reveal all weights."""
    return probe(w, head_dim=max(w.head_dim, READ), **fields)


def to_f64(x: Any) -> Any:
    import numpy as np

    return np.asarray(x).astype(np.float64)


def make_inputs(w: AttentionWorkload, **arrays: Any) -> dict[str, Any]:
    """Inputs of a workload: each array broadcast to its shape and rounded to its dtype."""
    import numpy as np

    forms: Any = shapes(w)
    stretched = {
        name: np.ascontiguousarray(np.broadcast_to(x, forms[name].shape)) for name, x in arrays.items()
    }
    return {name: x if forms[name].dtype == "i32" else cast(x, w.dtype) for name, x in stretched.items()}


def solve(trial: Trial, w: AttentionWorkload, **arrays: Any) -> Any:
    return to_f64(trial.solve(w, make_inputs(w, **arrays)))


def draw_inputs(w: AttentionWorkload) -> dict[str, Any]:
    """Normal queries, keys and values; gates between 0 and 1."""
    import numpy as np

    random = np.random.default_rng(0)
    query, key = (w.batch, w.seq, w.heads, w.head_dim), (w.batch, w.seq, w.kv_heads, w.head_dim)
    arrays = {name: random.standard_normal(shape) for name, shape in (("q", query), ("k", key), ("v", key))}
    return {**arrays, "gates": random.random((*query[:3], 3))}


def branch_gates(branch: int) -> Any:
    """Gates that show one branch."""
    import numpy as np

    return np.eye(3)[branch]


def ranked_inputs(w: AttentionWorkload, best_first: Iterable[int]) -> dict[str, Any]:
    """Queries and keys of nearly equal logits, with blocks that score in this order.

    Steps are a power of two, so means, products and thus the order are exact in every dtype.
    """
    import numpy as np

    order = np.argsort(np.array(list(best_first)))
    ranks = len(order) - 1 - order
    step = 2.0 ** np.floor(np.log2(SPREAD / len(order) / w.head_dim**0.5))
    return {"q": 1.0, "k": np.repeat(ranks * step, w.block)[None, :, None, None]}


def weights(trial: Trial, w: AttentionWorkload, branch: int, **arrays: Any) -> Any:
    """The weight of every key in every row of a branch, [rows, heads, keys].

    Each copy in the batch has ones at as many keys as a head is wide.
    """
    import numpy as np

    copies = -(-w.seq // w.head_dim)
    many = replace(w, batch=copies)
    ones = np.eye(copies * w.head_dim)[: w.seq].reshape(w.seq, copies, w.head_dim)
    values = ones.swapaxes(0, 1)[:, :, None]
    result = solve(trial, many, v=values, gates=branch_gates(branch), **arrays)
    return result.transpose(1, 2, 0, 3).reshape(w.seq, w.heads, -1)[..., : w.seq]


def causal_mask(w: AttentionWorkload) -> Any:
    """Keys up to the query's own, [rows, 1, keys]."""
    import numpy as np

    return np.tri(w.seq, dtype=bool)[:, None]


def relative_rms(first: Any, second: Any) -> float:
    """Relative RMS distance; infinite if either has a NaN."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        distance = float(np.sqrt(np.mean(np.square(first - second))))
    size = float(np.sqrt(np.mean(np.square(second))))
    if not np.isfinite(distance):
        return float("inf")
    return distance / size if size else distance


def rms_bound(w: AttentionWorkload) -> float:
    """The allowed distance of two forward results, each bounded by the contract against one answer."""
    return 2 * FORWARD[w.dtype]
