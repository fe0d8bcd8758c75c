"""Stage `attention`: the indexer's selection, and softmax attention over it (MaxText #4243 and #4261).

As in stage `indexer` every query may select every key. Queries and keys are MLA's after the up-projection, as
MaxText trains: every head has its own keys, wider than its values. All heads share one selection.

Rounding of the attended result, in unit roundoffs u: with logits and sums in f32, a half-precision result is
rounded twice, once for its weights and once for the result: 2 u. In f32 the sums dominate, with errors that
grow like √n u (Higham & Mary 2019): 1e-5 allows chains of 2^14. In f64 a bound near 1e-10 would detect a
stage in f32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from harness import Array, Cost, Shapes, Unsupported, cast

from ..workload import TopkWorkload
from ._indexer import BYTES, indexer_cost, indexer_inputs, indexer_shapes

ATTENDED = {"f64": 1e-10, "f32": 1e-5, "bf16": 2 * 2**-8, "f16": 2 * 2**-11}


def attention_shapes(w: TopkWorkload) -> Shapes:
    if w.devices > 1:
        raise Unsupported(f"devices {w.devices}: stage=attention is on one; use stage=indexer or devices=1")
    return {**indexer_shapes(w), **_attended_arrays(w)}


def attention_inputs(w: TopkWorkload, rng: Any) -> Mapping[str, Any]:
    """The indexer's inputs, then normal queries, keys and values that are independent of its scores."""
    import numpy as np

    drawn = np.float64 if w.dtype == "f64" else np.float32
    more = {
        name: cast(rng.standard_normal(array.shape, dtype=drawn), w.dtype)
        for name, array in _attended_arrays(w).items()
    }
    return {**indexer_inputs(w, rng), **more}


def attention_cost(w: TopkWorkload) -> Cost:
    """The indexer's cost, plus two products (for the score and the sum) with every selected column.

    Dense: the same with every column. Bytes: all inputs read once, the result and the selection written.
    """
    index, rows, width = indexer_cost(w), w.batch * w.rows, BYTES[w.dtype]
    a_column = 2.0 * rows * w.attention_heads * (w.key_dim + w.value_dim)
    held = sum(array.nbytes for array in _attended_arrays(w).values())
    return Cost(
        flops=(index.flops or 0) + a_column * w.topk,
        bytes=(index.bytes or 0) + held + rows * w.attention_heads * w.value_dim * width,
        dense_flops=a_column * w.seq,
    )


def _attended_arrays(w: TopkWorkload) -> dict[str, Array]:
    return {
        "q": Array((w.batch, w.rows, w.attention_heads, w.key_dim), w.dtype),
        "k": Array((w.batch, w.seq, w.attention_heads, w.key_dim), w.dtype),
        "v": Array((w.batch, w.seq, w.attention_heads, w.value_dim), w.dtype),
    }


def shares_at(inputs: Mapping[str, Any], batch: int, row: int, columns: Any) -> Any:
    """Softmax weights of one query at these columns before normalisation, f64 [heads, columns]."""
    import numpy as np

    query, keys = (
        np.asarray(part).astype(np.float64) for part in (inputs["q"][batch, row], inputs["k"][batch, columns])
    )
    logits = np.einsum("hd,shd->hs", query, keys) / math.sqrt(query.shape[-1])
    return np.exp(logits - logits.max(-1, keepdims=True))


def attended_at(inputs: Mapping[str, Any], rows: Any, indices: Any) -> Any:
    """Softmax attention over the columns `indices` [b, rows, n], f64 [b, rows, heads, value_dim]."""
    import numpy as np

    heads, width = inputs["v"].shape[2:]
    out = np.empty((*indices.shape[:2], heads, width))
    for batch, place in np.ndindex(indices.shape[:2]):
        columns = indices[batch, place]
        shares = shares_at(inputs, batch, rows[place], columns)
        values = np.asarray(inputs["v"][batch, columns]).astype(np.float64)
        out[batch, place] = np.einsum("hs,shd->hd", shares, values) / shares.sum(-1, keepdims=True)
    return out
