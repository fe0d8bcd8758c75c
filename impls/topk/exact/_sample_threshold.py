"""Thresholds guessed from a sample of a row, and where a mask is true: what the sampling variants share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

RUN = 8  # neighbours sampled together: fewer cache lines, and still many places
SIGMAS = 4.0


def rank(seq: int, topk: int, sample: int) -> int:
    """Which largest of `sample` of `seq` scores lies, at `SIGMAS` deviations, below the `topk`-th of all.

    How many of the largest are drawn follows a hypergeometric law. Beyond four deviations and one
    more lie 3e-5 of it where it is nearly normal, and never as much as 2e-3.
    """
    share = sample / seq
    mean = topk * share
    deviation = math.sqrt(mean * (1 - share) * (1 - topk / seq))
    return min(sample, math.ceil(mean + SIGMAS * deviation) + 1)


def guess(seq: int, topk: int, sample: int) -> Callable[[Any], Any]:
    """A function of keys [rows, seq] that guesses one threshold a row: [rows, 1]."""
    import numpy as np

    runs = max(1, min(sample, seq) // RUN)
    run = min(RUN, seq)
    width = seq // run * run
    starts = np.sort(np.random.default_rng(0).choice(width // run, size=runs, replace=False))
    count = runs * run
    at = count - rank(seq, topk, count)

    def threshold(keys: Any) -> Any:
        # A strided view is what is read: a row that is no multiple of a run loses its last columns.
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
