"""Checks with rows that random scores never produce, and of the order of a selection."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from harness import Judgement, Trial, Unsupported

from .._contracts import found_shares
from .recall import selected_and_best

NAN = "nan"


def _kinds(w: Any) -> dict[str, Any]:
    """Rows of f64 scores by name; except in `nan`, the whole selection is determined."""
    import numpy as np

    drawn = np.random.default_rng(2).standard_normal(w.seq)
    at = w.seq // 3
    rows = {
        "closed": np.full(w.seq, -math.inf),
        "one_open": np.full(w.seq, -math.inf),
        "equal": np.full(w.seq, 1.0),
        "zeros": np.where(np.arange(w.seq) % 2, 0.0, -0.0),
        "infinite": drawn.copy(),
        NAN: drawn.copy(),
    }
    rows["one_open"][at] = 1.0
    rows["infinite"][at] = math.inf
    rows[NAN][at] = math.nan
    return rows


def _fill(trial: Trial, row: Any) -> Any:
    import numpy as np

    scores = trial.inputs["scores"]
    return np.broadcast_to(row, scores.shape).astype(scores.dtype)


def edge_rows(trial: Trial) -> Judgement:
    """One kind of row at a time: the answer must be a selection with the row's largest score.

    `nan` reports what happens to one NaN among normal scores; `lax.top_k` treats it as the largest. A
    selection of one must reach the workload's recall, which an exact one exceeds.
    """
    w = trial.workload
    figures: dict[str, float | int | str | None] = {}
    bad: list[str] = []
    for kind, row in _kinds(w).items():
        scores = _fill(trial, row)
        if kind == NAN:
            figures[NAN], text = _with_nan(trial, scores)
        else:
            text = _compare_settled(trial, scores, kind)
        bad += [f"{kind}: {text}"] if text else []
    recall_of_one = _largest_alone(trial)
    figures["largest_alone"] = recall_of_one
    if recall_of_one is not None and recall_of_one < w.recall:
        bad.append(f"topk 1: the largest is found in {recall_of_one:.4f} of the rows")
    return Judgement(not bad, figures, "; ".join(bad))


def _largest_alone(trial: Trial) -> float | None:
    """Share of the drawn rows whose largest score topk 1 returns; None if topk 1 is refused."""
    try:
        pairs = selected_and_best(trial, trial.inputs["scores"], replace(trial.workload, topk=1))
    except Unsupported:
        return None
    return float(found_shares(*pairs).mean())


def _compare_settled(trial: Trial, scores: Any, kind: str) -> str:
    try:
        values, want = selected_and_best(trial, scores)
    except ValueError as error:
        return str(error)
    if (values[:, -1] != want[:, -1]).any():
        return "the largest score is missing"
    if kind != "infinite" and (values != want).any():
        return "the values are not the row's largest"
    return ""


def _with_nan(trial: Trial, scores: Any) -> tuple[str, str]:
    """(what happened to the NaN, why the answer is not a selection)."""
    import numpy as np

    values, indices = (np.asarray(part) for part in trial.call({"scores": scores}))
    if indices.min() < 0 or indices.max() >= scores.shape[-1]:
        return "an index out of range", "an index lies outside the row"
    if not np.diff(np.sort(indices, axis=-1), axis=-1).all():
        return "an index twice", "an index is returned twice"
    held = np.take_along_axis(scores, indices, axis=-1).astype(np.float64)
    if not np.array_equal(held, values.astype(np.float64), equal_nan=True):
        return "values of other columns", "a value is not the score at its index"
    has_nan = np.isnan(held).any(axis=-1)
    return ("taken" if has_nan.all() else "left out" if not has_nan.any() else "in some rows"), ""


def order(trial: Trial) -> Judgement:
    """Share of rows in the order of `lax.top_k`, for the drawn scores and for scores on a coarse grid."""
    import numpy as np

    w, drawn = trial.workload, trial.inputs["scores"]
    wide = drawn.astype(np.float64)
    grid = np.where(np.isfinite(wide), np.round(wide), wide).astype(drawn.dtype)
    figures: dict[str, float | int | str | None] = {}
    values = np.asarray(trial.result[0]).astype(np.float64)
    figures["descending"] = float((values[..., :-1] >= values[..., 1:]).all(axis=-1).mean())
    indices = np.asarray(trial.call({"scores": grid})[1])
    want = np.argsort(-grid.astype(np.float64), axis=-1, kind="stable")[..., : w.topk]
    figures["ties_by_index"] = float((indices == want).all(axis=-1).mean())
    same = np.sort(indices, axis=-1) == np.sort(want, axis=-1)
    figures["ties_same_set"] = float(same.all(axis=-1).mean())
    return Judgement(True, figures)
