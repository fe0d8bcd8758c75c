"""Contracts for computed scores: the selection is judged up to what rounding can decide.

Values must be the scores at their indices, and the selected ones must be the largest, or enough of them, both
within DEVIATIONS standard deviations of a score's error. An implementation selects y instead of x only if its
computed y is at least x. Their true scores then differ by at most both errors, and both are that near to the
cutoff; there any of them may be selected.
"""

from __future__ import annotations

from typing import Any

from harness import Contract, Evidence, Judgement

from .._contracts import found_shares, judge_recall, pair
from ._indexer import scores_at

DEVIATIONS = 6

Value = float | int | str | None


def _sort_selected(evidence: Evidence) -> tuple[Any, Any, dict[str, Value], str]:
    """(scores, largest, figures, reason): sorted f64 [rows, topk]; possible ties at the cutoff are equal."""
    import numpy as np

    values, indices, reason = pair(evidence)
    if reason:
        return None, None, {}, reason
    scores, error = scores_at(evidence.workload, evidence.inputs, evidence.rows, indices)
    error *= DEVIATIONS
    away = np.abs(values - scores)
    share = np.divide(away, error, out=np.where(away == 0, 0.0, np.inf), where=error > 0)
    figures: dict[str, Value] = {"largest_error_of_allowed": float(share.max())}
    wrong = ~(away <= error)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        mismatch = f"is {values[at]:.9g}; the score at its index is {scores[at]:.9g}"
        return None, None, figures, f"values{list(at)} {mismatch}, but rounding explains only {error[at]:.2g}"
    want = np.asarray(evidence.expected[0], np.float64)
    band = 2 * np.maximum(error.max(-1, keepdims=True), _error_of_missed(evidence, indices))
    cutoff = want.min(-1, keepdims=True)
    tied = (np.where(np.abs(part - cutoff) <= band, cutoff, part) for part in (scores, want))
    scores, want = (np.sort(part.reshape(-1, part.shape[-1]), axis=-1) for part in tied)
    return scores, want, figures, ""


def _error_of_missed(evidence: Evidence, indices: Any) -> Any:
    """The largest error, [b, rows, 1], of scores that the reference selects; 0 if none is missing."""
    import numpy as np

    expected = np.asarray(evidence.expected[1])
    errors = np.zeros((*expected.shape[:2], 1))
    other = (np.sort(expected, axis=-1) != np.sort(indices, axis=-1)).any(-1)
    rows = np.arange(other.shape[1]) if evidence.rows is None else np.asarray(evidence.rows)
    for place in np.flatnonzero(other.any(0)):
        at = slice(place, place + 1)
        _, deviations = scores_at(evidence.workload, evidence.inputs, rows[at], expected[:, at])
        errors[:, at] = DEVIATIONS * deviations.max(-1, keepdims=True)
    return errors


def _judge_exact(evidence: Evidence) -> Judgement:
    """Require that no selected score is below the cutoff by more than rounding explains."""
    scores, want, figures, reason = _sort_selected(evidence)
    if reason:
        return Judgement(False, {"mismatches": None, **figures}, reason)
    count = round(float((1 - found_shares(scores, want)).sum()) * want.shape[1])
    if count:
        reason = f"{count} of the largest scores are missing by more than rounding; take the topk largest"
    return Judgement(not count, {"mismatches": count, **figures}, reason)


def _judge_recall(evidence: Evidence) -> Judgement:
    """Require a mean over rows, of the share of the largest that was found, of at least the target recall."""
    scores, want, figures, reason = _sort_selected(evidence)
    target = evidence.workload.recall
    if reason:
        return Judgement(False, {"recall": None, "target": target, **figures}, reason)
    verdict = judge_recall(scores, want, target)
    return Judgement(verdict.passed, {**verdict.figures, **figures}, verdict.reason)


EXACT_SCORED = Contract("exact", _judge_exact, "no largest score missing by more than rounding explains")
RECALL_SCORED = Contract("recall", _judge_recall, "mean over rows ≥ the workload's recall")
