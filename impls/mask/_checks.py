"""The family's checks: objections to MaxText's two masks (#4261, #4437) as pass/fail tests.

The contracts compare an implementation with its reference on the seeded inputs. The checks use other
selections: without ties, in another order, with duplicates, approximate, and of rows that see almost nothing.
"""

from __future__ import annotations

from typing import Any

from harness import Check, Judgement, Trial, leaves

from .reference import WORD, closed_value, last_visible, top, visible

FORMS = ("exact", "packed", "blocks")  # semantics whose open columns are the indices, in any form
STEPS = 128  # bfloat16 has that many values from 1 to 2


def is_open(result: Any) -> Any:
    """Which columns are open, as booleans, whatever the form: [batch, rows, seq or more]."""
    import numpy as np

    if isinstance(result, dict):  # an empty block is skipped
        inside = result["inside"] & result["held"][..., None]
        return inside.reshape(*inside.shape[:2], -1)
    if result.dtype.kind == "u":
        bits = result[..., None] >> np.arange(WORD, dtype=np.uint32) & 1
        return bits.astype(bool).reshape(*result.shape[:2], -1)
    return result == 0


def mark_indices(columns: Any, indices: Any) -> Any:
    """True at the indices, in the shape of `columns`."""
    import numpy as np

    out = np.zeros(columns.shape, bool)
    np.put_along_axis(out, indices, True, axis=-1)
    return out


def call(trial: Trial, **changed: Any) -> Any:
    """The answer to the inputs with these changes, limited to inputs that the implementation takes."""
    return trial.call({name: array for name, array in changed.items() if name in trial.inputs})


def select_top(scores: Any, k: int) -> dict[str, Any]:
    """These scores and what `lax.top_k` selects from them; NaN is the largest."""
    import numpy as np

    indices = np.empty((*scores.shape[:2], k), np.int32)
    for row in np.ndindex(*scores.shape[:2]):
        wide = scores[row].astype(np.float64)
        indices[row] = top(np.where(np.isnan(wide), np.inf, wide), k)
    values = np.take_along_axis(scores, indices, axis=-1)
    return {"scores": scores, "topk_indices": indices, "topk_values": values}


def untied_scores(w: Any) -> dict[str, Any]:
    """Scores without ties at the cutoff, 1: selected scores are above 1, the others below −1.

    In bfloat16 longer rows cannot be free of ties; elsewhere they change nothing.
    """
    import numpy as np

    random, rank = np.random.default_rng(0), np.arange(w.seq)
    # Multiples of 1/128 from 1 to 2 in size, exact in bfloat16; only the last one selected is 1, the cutoff.
    above = 1 + (1 + (STEPS - 2) * (w.topk - 2 - rank) // max(w.topk - 1, 1)) / STEPS
    below = -1 - (STEPS - 1) * (rank - w.topk) // (w.seq - w.topk) / STEPS - 1 / STEPS
    ranked = np.where(rank < w.topk - 1, above, np.where(rank == w.topk - 1, 1.0, below))
    scores = np.empty((w.batch, w.rows, w.seq), closed_value(w.dtype).dtype)
    indices = np.empty((w.batch, w.rows, w.topk), np.int32)
    for row in np.ndindex(w.batch, w.rows):
        order = random.permutation(w.seq)
        scores[row][order] = ranked.astype(scores.dtype)
        indices[row] = order[: w.topk]
    values = np.take_along_axis(scores, indices, axis=-1)
    return {"scores": scores, "topk_indices": indices, "topk_values": values}


def count_open(opened: Any, w: Any) -> dict[str, float | int | str | None]:
    count = opened.sum(axis=-1)
    return {
        "least": int(count.min()),
        "mean": round(float(count.mean()), 3),
        "most": int(count.max()),
        "rows_over_topk": int((count > w.topk).sum()),
    }


def _kept_count(trial: Trial) -> Judgement:
    w = trial.workload
    figures = count_open(is_open(call(trial, **untied_scores(w))), w)
    right = figures["least"] == figures["most"] == w.topk
    text = f"{figures['least']} to {figures['most']} columns are open, not topk {w.topk}, without any ties"
    return Judgement(right, figures, "" if right else text)


def _kept_ties(trial: Trial) -> Judgement:
    """Use the seeded scores: in bf16 they tie, in f32 hardly ever."""
    return Judgement(True, count_open(is_open(trial.result), trial.workload))


def _no_nan(trial: Trial) -> Judgement:
    """Use the seeded inputs, then one NaN in each row of scores, then logits in the thousands."""
    import numpy as np

    results = {"": trial.result}
    if "scores" in trial.inputs:
        scores = np.array(trial.inputs["scores"])
        scores[..., 0] = np.nan  # a column that every row sees
        results[" if each row has one NaN score"] = call(trial, **select_top(scores, trial.workload.topk))
    if "queries" in trial.inputs:
        queries = trial.inputs["queries"]
        results[" if logits are in the thousands"] = call(trial, queries=queries * queries.dtype.type(4096))
    counts = {
        what: sum(int(np.isnan(array).sum()) for _, array in leaves(result))
        for what, result in results.items()
    }
    bad = [f"{count} results are NaN{what}" for what, count in counts.items() if count]
    return Judgement(not bad, {"nan": sum(counts.values())}, "; ".join(bad))


def _all_masked_row(trial: Trial) -> Judgement:
    """Row t sees t + 1 columns, or those the workload makes visible; the mask is added before and after."""
    import numpy as np

    w = trial.workload
    last = last_visible(w) if w.causal else np.minimum(np.arange(w.rows), w.seq - 1)
    visible_columns = np.arange(w.seq) <= last[:, None]
    value = closed_value(w.dtype)
    scores = untied_scores(w)["scores"]
    mask = call(trial, **select_top(np.where(visible_columns, scores, value), w.topk))
    with np.errstate(over="ignore"):
        again = mask + np.where(visible_columns, np.zeros((), value.dtype), value)
    shut = ~(again == 0).any(axis=-1)
    figures = {"rows_all_masked": int(shut.sum()), "overflowed": int(np.isneginf(again).sum())}
    reason = ""
    if shut.any():
        batch, row = np.argwhere(shut)[0]
        reason = f"{int(shut.sum())} rows have no open column; the first is [{batch}, {row}]"
    return Judgement(not reason, figures, reason)


def _opens(trial: Trial, indices: Any) -> Judgement:
    """Whether exactly these indices are open; hidden columns may be closed."""
    import numpy as np

    w = trial.workload
    opened = is_open(call(trial, topk_indices=indices))
    expected = mark_indices(opened, indices)
    missing = expected & ~opened
    if w.causal:
        missing[..., : w.seq] &= visible(w, np.arange(w.rows))
    figures = {"missing": int(missing.sum()), "beside": int((opened & ~expected).sum())}
    text = f"{figures['missing']} of the indices are closed, {figures['beside']} other columns are open"
    return Judgement(not any(figures.values()), figures, text if any(figures.values()) else "")


def _matches_indices(trial: Trial) -> Judgement:
    """Indices that are not the top k of any scores, including the last column."""
    import numpy as np

    w, random = trial.workload, np.random.default_rng(0)
    indices = np.full((w.batch, w.rows, w.topk), w.seq - 1, np.int32)
    for row in np.ndindex(w.batch, w.rows):
        indices[row][1:] = random.permutation(w.seq - 1)[: w.topk - 1]
    return _opens(trial, indices)


def _duplicates(trial: Trial) -> Judgement:
    """Repeat the first half of each row's indices in reverse order."""
    import numpy as np

    indices = np.array(trial.inputs["topk_indices"])
    count = indices.shape[-1]
    half = indices[..., : count - count // 2]
    indices[..., count - count // 2 :] = half[..., : count // 2][..., ::-1]
    return _opens(trial, indices)


def _order_of_indices(trial: Trial) -> Judgement:
    """Order the indices by column, unlike a selection by score, and then shuffle them."""
    import numpy as np

    indices = trial.inputs["topk_indices"]
    open_columns = is_open(trial.result)
    orders = {
        "ascending": np.sort(indices, axis=-1),
        "shuffled": np.random.default_rng(0).permuted(indices, axis=-1),
    }
    changes = {
        how: int((is_open(call(trial, topk_indices=i)) != open_columns).sum()) for how, i in orders.items()
    }
    bad = [f"{count} columns change if the indices are {how}" for how, count in changes.items() if count]
    return Judgement(not bad, dict(changes), "; ".join(bad))


def _positional_bias(trial: Trial) -> Judgement:
    """Use a selection that missed one in twenty of the best, as `approx_max_k` may: its cutoff is too low.

    Count those of its indices that the mask leaves closed. `dropped_at` is their mean position in the row,
    from 0 to 1: one half if position does not matter. Recall is relative to the true `topk`. At least two
    indices are missed if there are enough: with one, an exact count drops only the cutoff itself.
    """
    import numpy as np

    w, random = trial.workload, np.random.default_rng(0)
    missed = min(max(2, w.topk // 20), w.seq - w.topk, w.topk)
    candidates = select_top(trial.inputs["scores"], w.topk + missed)["topk_indices"]
    indices = np.empty((*candidates.shape[:2], w.topk), np.int32)
    for row in np.ndindex(*candidates.shape[:2]):
        indices[row] = np.delete(candidates[row], random.choice(w.topk, missed, replace=False))
    values = np.take_along_axis(trial.inputs["scores"], indices, axis=-1)
    opened = is_open(call(trial, topk_indices=indices, topk_values=values))
    expected, best = mark_indices(opened, indices), mark_indices(opened, candidates[..., : w.topk])
    dropped = np.nonzero(expected & ~opened)[-1]
    rows = w.batch * w.rows
    return Judgement(
        True,
        {
            "dropped_a_row": round(len(dropped) / rows, 3),
            "dropped_at": round(float(dropped.mean()) / max(w.seq - 1, 1), 4) if len(dropped) else None,
            "beside_a_row": round(int((opened & ~expected).sum()) / rows, 3),
            "recall": round(int((opened & best).sum()) / (rows * w.topk), 5),
            "recall_of_indices": round(int((expected & best).sum()) / (rows * w.topk), 5),
        },
    )


def _several(w: Any) -> bool:
    return w.topk > 1


CHECKS = (
    Check(
        "kept_count",
        "a mask from a cutoff need not keep topk columns (MaxText #4437)",
        _kept_count,
        semantics=(*FORMS, "threshold"),
    ),
    Check(
        "kept_ties",
        "a threshold opens more than topk columns if scores tie at the cutoff (MaxText #4437)",
        _kept_ties,
        semantics=("threshold", "masked_again"),
        decides=False,
    ),
    Check(
        "no_nan",
        "a NaN must not reach the mask or the softmax with it (MaxText #4437)",
        _no_nan,
        semantics=("exact", "threshold", "masked_again", "attended"),
    ),
    Check(
        "all_masked_row",
        "the closed value added twice is −inf, and a row with only those gives NaN (MaxText #4437)",
        _all_masked_row,
        semantics=("exact", "threshold", "masked_again"),
    ),
    Check(
        "matches_indices",
        "a mask must match the indices returned with it, even if they are approximate (MaxText #4437)",
        _matches_indices,
        semantics=(*FORMS, "masked_again"),
        inputs=("topk_indices",),
    ),
    Check(
        "positional_bias",
        "with an approximate selection, an exact count drops the most recent tokens (MaxText #4437)",
        _positional_bias,
        semantics=("exact", "threshold"),
        inputs=("scores", "topk_values"),
        when=lambda w: not w.causal,
        decides=False,
    ),
    Check(
        "order_of_indices",
        "the indices are a set, though a top-k returns them in order (MaxText #4261)",
        _order_of_indices,
        semantics=(*FORMS, "masked_again"),
        inputs=("topk_indices",),
        when=_several,
    ),
    Check(
        "duplicates",
        "random integers, which upstream's test uses, can name a column twice (MaxText #4261)",
        _duplicates,
        semantics=(*FORMS, "masked_again"),
        inputs=("topk_indices",),
        when=_several,
    ),
)
