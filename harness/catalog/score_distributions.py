"""Distributions of the scores that a selection reads: where large ones are, and which ones tie."""

from __future__ import annotations

from typing import Any

DISTRIBUTIONS = ("iid", "clustered", "periodic", "tied", "narrow", "zeros")
PERIOD = 2048


def draw_scores(distribution: str, shape: tuple[int, int, int], run: int, rng: Any, dtype: Any) -> Any:
    """Scores [batch, rows, seq] in a numpy dtype, which the caller rounds to its own.

    `iid`: normal. `clustered`: normal, with `run` consecutive columns at a random place raised by 8 standard
    deviations. `periodic`: a cosine with a period of 2048 columns (at most a quarter of the row) plus 0.1
    noise. `tied`: normal, rounded to eighths. `narrow`: normal with mean 64 and standard deviation 1/16, the
    spacing of f16 there. `zeros`: about `run`/2 random columns above 0, all others 0, as after a ReLU: the
    cutoff ties.
    """
    import numpy as np

    seq = shape[-1]
    scores = rng.standard_normal(shape, dtype=dtype)
    column = np.arange(seq)
    if distribution == "clustered":
        first = rng.integers(0, seq - run, size=(*shape[:2], 1), endpoint=True)
        scores += 8 * ((column >= first) & (column < first + run))
    elif distribution == "periodic":
        period = min(PERIOD, max(seq // 4, 1))
        phase = rng.integers(0, period, size=(*shape[:2], 1))
        scores = np.cos(2 * np.pi / period * ((column + phase) % period)) + 0.1 * scores
    elif distribution == "tied":
        scores = np.round(scores * 8) / 8
    elif distribution == "narrow":
        scores = 64 + scores / 16
    elif distribution == "zeros":
        scores = np.where(rng.random(shape, dtype=np.float32) < run / (2 * seq), np.abs(scores), 0)
    return scores
