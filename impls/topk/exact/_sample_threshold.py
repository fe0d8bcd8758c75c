"""Shared code of the sampling implementations: a threshold estimated from a sample, and mask positions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

RUN = 8  # adjacent scores that are sampled together: fewer cache lines, and still many places
SIGMAS = 4.0


def rank(seq: int, topk: int, sample: int) -> int:
    """The rank in `sample` of `seq` scores that is `SIGMAS` deviations below the `topk`-th of all.

    The number of the largest in the sample follows a hypergeometric distribution. Beyond four deviations plus
    one its probability is 3e-5 if it is nearly normal, and always below 2e-3.
    """
    share = sample / seq
    mean = topk * share
    deviation = math.sqrt(mean * (1 - share) * (1 - topk / seq))
    return min(sample, math.ceil(mean + SIGMAS * deviation) + 1)


def guess(seq: int, topk: int, sample: int) -> Callable[[Any], Any]:
    """A function of keys [rows, seq] that estimates one threshold per row: [rows, 1]."""
    import numpy as np

    runs = max(1, min(sample, seq) // RUN)
    run = min(RUN, seq)
    width = seq // run * run
    starts = np.sort(np.random.default_rng(0).choice(width // run, size=runs, replace=False))
    count = runs * run
    at = count - rank(seq, topk, count)

    def threshold(keys: Any) -> Any:
        # Only a strided view is read: if the row is not a multiple of a run, it loses its last columns.
        drawn = keys[:, :width].reshape(len(keys), width // run, run)[:, starts].reshape(len(keys), count)
        drawn.partition(at, axis=1)
        return drawn[:, at, None]

    return threshold


def positions(mask: Any) -> Any:
    """Flat positions of the true entries, ascending, by words of eight: most words are empty."""
    import numpy as np

    if mask.size % 8:
        return np.flatnonzero(mask)
    words = mask.reshape(-1).view(np.uint64)
    live = np.flatnonzero(words != 0)
    inner = np.flatnonzero(words[live].view(np.bool_))
    found = live.take(inner >> 3)
    found <<= 3
    inner &= 7
    found += inner
    return found
