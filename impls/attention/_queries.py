"""Queries and keys that are not independent: clusters of neighbours, or a softmax that one key takes."""

from __future__ import annotations

import math
from typing import Any

from harness import Unsupported, cast

from .workload import DISTRIBUTIONS, AttentionWorkload

RUN = 256  # tokens of a cluster, which share a direction
LEAD = 3  # of a peaked logit over the logarithm of how many keys there are
STAGES = ("attention", "given_blocks", "decode", "chunk")


def refuse_distribution(w: AttentionWorkload) -> None:
    """Raise :class:`Unsupported` in a stage that reads no queries and keys as they are drawn here."""
    if w.distribution in DISTRIBUTIONS[1:] and w.stage not in STAGES:
        raise Unsupported(f"distribution={w.distribution}: stage={w.stage} is of drawn parts; use iid")


def relate(w: AttentionWorkload, arrays: dict[str, Any], rng: Any) -> dict[str, Any]:
    """Drawn arrays with their queries, the last n tokens, and keys related as the workload says.

    `clustered`: runs of 256 keys share a direction as large as what is each one's own, and half of it
    joins the queries of the run. `peaked`: to a query's own normal one comes a key of its sequence that it
    sees, in such a measure that this key weighs several times as much as all others together, and the softmax
    is not yet so steep that gradients vanish. `zeros`: both are 0: every key weighs alike, and whatever
    selects keys has nothing to go by.
    """
    import numpy as np

    if w.distribution == "iid":
        return arrays
    wide = np.float64 if w.dtype == "f64" else np.float32
    q, k = arrays["q"].astype(wide), arrays["k"].astype(wide)
    groups, tokens = q.shape[2] // k.shape[2], k.shape[1]
    places = np.arange(tokens - q.shape[1], tokens)
    if w.distribution == "zeros":
        q, k = np.zeros_like(q), np.zeros_like(k)
    elif w.distribution == "clustered":
        shared = rng.standard_normal((k.shape[0], -(-tokens // RUN), *k.shape[2:]), dtype=wide)
        q += shared[:, places // RUN].repeat(groups, 2) / 2
        k += shared.repeat(RUN, 1)[:, :tokens]
    else:
        cuts = arrays.get("cu_seqlens", np.zeros(1, np.int64))
        starts = cuts[np.searchsorted(cuts, places, "right") - 1]
        aimed = starts + np.floor(rng.random(q.shape[:2]) * (places - starts + 1)).astype(np.int64)
        size = wide((math.log(tokens) + LEAD) / math.sqrt(w.head_dim))
        q += size * np.take_along_axis(k, aimed[:, :, None, None], 1).repeat(groups, 2)
    return arrays | {"q": cast(q, w.dtype), "k": cast(k, w.dtype)}
