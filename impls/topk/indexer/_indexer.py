"""Stage `indexer`: the scores are DeepSeek's lightning indexer's (DeepSeek-V3.2-Exp), then selected from.

    score     I[r, s] = Σ over heads of w[r, h] · ReLU(q[r, h]·k[s]) / √(heads · head_dim)

No mask: every query may select every key. Under context parallelism rows and keys are split over the
devices of one axis. A query needs all keys, so they are what travels; the scores of a device's own rows,
[batch, rows / devices, seq], never do.

Rounding: inputs are exact, sums are in f32 (f64 for f64 inputs), and errors are independent, of mean
zero and at most u: the model of Higham & Mary (SIAM J. Sci. Comput. 41, 2019). A partial sum of n
terms x, in whatever order, is about |Σx| + ‖x‖₂ at most, so a sum has an error of standard deviation
√n u (|Σx| + ‖x‖₂). That enters q·k, passes the ReLU as it is, and enters the sum over heads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import Array, Cost, Shapes, Sharding, Unsupported, cast

from ..workload import DISTRIBUTIONS, TopkWorkload

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}
OTHER_ROUNDINGS = 4  # the weight, its scale, their product, storing the score


def indexer_shapes(w: TopkWorkload) -> Shapes:
    if w.distribution in DISTRIBUTIONS[1:]:
        raise Unsupported(f"distribution={w.distribution}: an indexer's scores are computed; use iid")
    for name, size in (("rows", w.rows), ("seq", w.seq)):
        if size % w.devices:
            raise Unsupported(f"{name} {size} is not divisible by {w.devices} devices; use a multiple")
    return {
        "queries": Array((w.batch, w.rows, w.heads, w.head_dim), w.dtype),
        "keys": Array((w.batch, w.seq, w.head_dim), w.dtype),
        "weights": Array((w.batch, w.rows, w.heads), w.dtype),
    }


def indexer_inputs(w: TopkWorkload, rng: Any) -> Mapping[str, Any]:
    """Normal queries, keys and weights, rounded to the dtype; weights have both signs, as learned ones do."""
    import numpy as np

    drawn = np.float64 if w.dtype == "f64" else np.float32
    arrays = ((name, array) for name, array in indexer_shapes(w).items() if isinstance(array, Array))
    return {name: cast(rng.standard_normal(array.shape, dtype=drawn), w.dtype) for name, array in arrays}


def indexer_sharding(w: TopkWorkload) -> Sharding | None:
    """Rows and keys are in equal runs along the axis; a row's selection is on its query's device."""
    if w.devices == 1:
        return None
    split = (None, w.axis, None)
    inputs = {"queries": (*split, None), "keys": split, "weights": split}
    return Sharding(w.devices, w.axis, inputs, split)


def indexer_cost(w: TopkWorkload) -> Cost:
    """For one device: a product per head and pair of query and key, and its term in the weighted sum.

    Bytes: read its queries and weights and all keys, write the selected scores and their int32 indices.
    """
    rows, width = w.batch * w.rows / w.devices, BYTES[w.dtype]
    read = rows * w.heads * (w.head_dim + 1) + w.batch * w.seq * w.head_dim
    return Cost(
        flops=2 * rows * w.seq * w.heads * (w.head_dim + 1),
        bytes=read * width + rows * w.topk * (max(width, BYTES["f32"]) + 4),
    )


def scores_of(w: TopkWorkload, queries: Any, keys: Any, weights: Any) -> Any:
    """I[r, s] of one sequence, [rows, seq] f64, from queries [rows, heads, head_dim] and its keys."""
    import numpy as np

    total = np.zeros((len(queries), len(keys)))
    for head in range(w.heads):
        liked = queries[:, head] @ keys.T
        np.maximum(liked, 0, out=liked)
        liked *= weights[:, head, None]
        total += liked
    return total / (w.heads * w.head_dim) ** 0.5


def scores_at(w: TopkWorkload, inputs: Mapping[str, Any], rows: Any, indices: Any) -> tuple[Any, Any]:
    """(scores, deviations), f64 [b, rows, n], at columns `indices`; `rows` None for all.

    A deviation is the standard deviation of a computed score's error.
    """
    import numpy as np

    result = np.empty((2, *indices.shape))
    chosen = np.arange(w.rows) if rows is None else rows
    for batch, place in np.ndindex(indices.shape[:2]):
        query, weight = (np.asarray(inputs[name][batch, chosen[place]]) for name in ("queries", "weights"))
        keys = np.asarray(inputs["keys"][batch, indices[batch, place]])
        parts = (part.astype(np.float64) for part in (query, keys, weight))
        result[:, batch, place] = _score_and_deviation(w, *parts)
    return result[0], result[1]


def _score_and_deviation(w: TopkWorkload, query: Any, keys: Any, weight: Any) -> tuple[Any, Any]:
    """(scores, deviations), [n] each, of a query [heads, head_dim] with keys [n, head_dim]."""
    import numpy as np

    products = query @ keys.T
    rounding = w.head_dim**0.5 * (np.abs(products) + np.sqrt(query**2 @ (keys**2).T))
    terms = weight[:, None] * np.maximum(products, 0)
    variance = np.square(weight[:, None] * rounding) + np.square(OTHER_ROUNDINGS * terms)
    total = w.heads**0.5 * (np.abs(terms.sum(0)) + np.sqrt(np.square(terms).sum(0)))
    unit = 2.0**-53 if w.dtype == "f64" else 2.0**-24
    scale = (w.heads * w.head_dim) ** -0.5
    return scale * terms.sum(0), unit * scale * np.sqrt(variance.sum(0) + np.square(total))
