"""Queries and keys that are not independent: clusters of neighbours, or a softmax with one dominant key."""

from __future__ import annotations

import math
from typing import Any

from harness import Unsupported, cast

from .workload import DISTRIBUTIONS, AttentionWorkload

RUN = 256  # tokens of a cluster, which share a direction
LEAD = 3  # a peaked logit divided by the logarithm of the number of keys
STAGES = ("attention", "given_blocks", "decode", "chunk")


def refuse_distribution(w: AttentionWorkload) -> None:
    """Raise :class:`Unsupported` in a stage that does not read queries and keys drawn here."""
    if w.distribution in DISTRIBUTIONS[1:] and w.stage not in STAGES:
        raise Unsupported(f"distribution={w.distribution}: stage={w.stage} takes drawn parts; use iid")


def relate(w: AttentionWorkload, arrays: dict[str, Any], rng: Any) -> dict[str, Any]:
    """Relate drawn queries (the last n tokens) and keys as the workload says; returns all arrays.

    `clustered`: runs of 256 keys share a direction as large as each key's own part, and half of it is added
    to the run's queries. `peaked`: to each query's own normal part comes a key of its sequence that it sees,
    scaled so that this key weighs several times as much as all others together, but the softmax is not yet so
    steep that gradients vanish. `zeros`: both are 0, so every key weighs alike, and a selection of keys is
    arbitrary.
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
