"""Contracts of a selection: it must be valid, and have the largest scores, or enough of them.

Neither contract tests the order, or which of several equal scores was selected.
"""

from __future__ import annotations

import math
from typing import Any

from harness import Contract, Evidence, Judgement


def pair(evidence: Evidence) -> tuple[Any, Any, str]:
    """(values f64, indices, reason), both [b, rows, topk]; the reason if they are not a selection."""
    import numpy as np

    shape, columns = np.shape(evidence.expected[0]), evidence.workload.seq
    if not isinstance(evidence.result, (tuple, list)) or len(evidence.result) != 2:
        return None, None, "the result is not a pair of values and indices"
    values, indices = (np.asarray(part) for part in evidence.result)
    if values.shape != shape or indices.shape != shape:
        text = f"values have shape {values.shape} and indices {indices.shape}; expected {shape} for both"
        return None, None, text
    if not np.issubdtype(indices.dtype, np.integer):
        return None, None, f"indices are {indices.dtype}, not integers"
    if indices.min() < 0 or indices.max() >= columns:
        return None, None, f"an index lies outside 0 … {columns - 1}"
    if not np.diff(np.sort(indices, axis=-1), axis=-1).all():
        return None, None, "an index is returned twice in one row"
    return values.astype(np.float64), indices, ""


def selection(evidence: Evidence) -> tuple[Any, Any, str]:
    """(values, expected values, reason): sorted f64 [rows, topk]; the reason why it is not a selection."""
    import numpy as np

    want = np.asarray(evidence.expected[0], np.float64)
    values, indices, reason = pair(evidence)
    if reason:
        return None, want, reason
    scores = np.asarray(evidence.inputs["scores"])
    scores = scores if evidence.rows is None else scores[:, evidence.rows]
    wrong = values != np.take_along_axis(scores, indices, axis=-1).astype(np.float64)
    if wrong.any():
        at = [int(i) for i in np.argwhere(wrong)[0]]
        return None, want, f"values{at} is not the score at its index"
    k = want.shape[-1]
    return np.sort(values.reshape(-1, k), axis=-1), np.sort(want.reshape(-1, k), axis=-1), ""


def _judge_exact(evidence: Evidence) -> Judgement:
    """Require the reference's values, as a multiset."""
    values, want, reason = selection(evidence)
    if reason:
        return Judgement(False, {"mismatches": None}, reason)
    count = int((values != want).sum())
    if count:
        reason = f"{count} values differ from the sorted largest; take the topk largest of every row"
    return Judgement(not count, {"mismatches": count}, reason)


def _judge_recall(evidence: Evidence) -> Judgement:
    """Require a mean over rows, of the share of the largest that was found, of at least the target recall."""
    values, want, reason = selection(evidence)
    target = evidence.workload.recall
    if reason:
        return Judgement(False, {"recall": None, "target": target}, reason)
    return judge_recall(values, want, target)


def judge_recall(values: Any, want: Any, target: float) -> Judgement:
    """Judge sorted values [rows, topk] against the largest, `want`.

    `recall_low` and `recall_high` bound the mean at 95 % by Student's t over rows (None for one row).
    `worst_row` is the least recall of a row. `value_recall` is the sum of the finite values found divided by
    that of the finite largest, None unless the latter is positive.
    """
    import numpy as np

    recall = found_shares(values, want)
    mean = float(recall.mean())
    low, high = interval(recall)
    found, most = (float(part[np.isfinite(part)].sum()) for part in (values, want))
    figures = {
        "recall": mean,
        "recall_low": low,
        "recall_high": high,
        "worst_row": float(recall.min()),
        "value_recall": found / most if most > 0 else None,
        "target": target,
    }
    short = f"mean recall {mean:.4f} is below the target {target:g}; keep more candidates or lower the recall"
    return Judgement(mean >= target, figures, "" if mean >= target else short)


def found_shares(values: Any, want: Any, weight: Any = None) -> Any:
    """The share of the largest, `want`, that is among `values` [rows]; both [rows, topk], sorted.

    Equal scores at the cutoff are interchangeable, but no more count than the reference has. `weight` maps
    scores to their weights; by default each counts as one.
    """
    import numpy as np

    cutoff = want[:, :1]
    tied = np.minimum((values == cutoff).sum(axis=1), (want == cutoff).sum(axis=1))
    if weight is None:
        return ((values > cutoff).sum(axis=1) + tied) / want.shape[1]
    above = np.where(values > cutoff, weight(values), 0.0).sum(axis=1)
    return (above + tied * weight(cutoff)[:, 0]) / weight(want).sum(axis=1)


def interval(recall: Any) -> tuple[float | None, float | None]:
    """95 % bounds of the mean by Student's t, within [0, 1]."""
    from scipy.special import stdtrit

    if recall.size < 2:
        return None, None
    half = float(stdtrit(recall.size - 1, 0.975)) * float(recall.std(ddof=1)) / math.sqrt(recall.size)
    mean = float(recall.mean())
    return max(mean - half, 0.0), min(mean + half, 1.0)


EXACT = Contract("exact", _judge_exact, "the same values in any order, each the score at its index")
RECALL = Contract("recall", _judge_recall, "mean over rows ≥ the workload's recall")
