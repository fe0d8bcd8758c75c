"""Checks of causality: whether changing a token changes rows before it, and how far before."""

from __future__ import annotations

from typing import Any

from harness import Judgement, Trial, cast

from ..workload import AttentionWorkload
from .probe import SELECTED, SLACK, WINDOW, probe, solve, to_f64

TOKENS = ("q", "k", "v")
INDEXER = ("index_q", "index_k", "index_w")
STEPS_IN = 8  # of the token that #296 was tried with: 200, in the block that begins at 192


def replace_tokens(trial: Trial, tokens: slice, names: tuple[str, ...] = TOKENS) -> dict[str, Any]:
    """These inputs, with other numbers at some tokens."""
    import numpy as np

    changed = {}
    for name in names:
        array = np.array(trial.inputs[name])
        array[:, tokens] = cast(1 - 2 * to_f64(array[:, tokens]), trial.workload.dtype)
        changed[name] = array
    return changed


def changed_rows(first: Any, second: Any, before: int) -> tuple[list[int], float]:
    """(rows before a position that differ, the largest change among them)."""
    import numpy as np

    first, second = to_f64(first)[:, :before], to_f64(second)[:, :before]
    rows = np.nonzero((first != second).any(axis=(0, 2, 3)))[0].tolist()
    return rows, float(np.nanmax(np.abs(first - second))) if rows else 0.0


def edge(w: AttentionWorkload) -> int:
    """The start of a block in the middle."""
    return w.seq // 2 // w.block * w.block


def causality(trial: Trial) -> Judgement:
    """Change all tokens from a position on: around a block boundary, and the last token."""
    w = trial.workload
    middle = edge(w)
    names = (*TOKENS, *(name for name in INDEXER if name in trial.inputs))
    places = sorted({p for p in (middle - 1, middle, middle + 1, w.seq - 1) if 0 < p < w.seq})
    worst: tuple[list[int], float, int] = [], 0.0, 0
    for place in places:
        rows, size = changed_rows(
            trial.call(replace_tokens(trial, slice(place, None), names)), trial.result, place
        )
        worst = max(worst, (rows, size, place), key=lambda entry: len(entry[0]))
    rows, size, place = worst
    reason = f"{len(rows)} rows before token {place} change with it; the first is {rows[0]}" if rows else ""
    return Judgement(not rows, {"rows": len(rows), "largest": size}, reason)


def causal_leak(trial: Trial) -> Judgement:
    """Change one token: first its value only, then also query and key, which changes selections as well.

    `rows_before` is the distance from the first changed row to the token.
    """
    w = trial.workload
    place = min(edge(w) + min(STEPS_IN, w.block - 1), w.seq - 1)
    figures: dict[str, float | int | str | None] = {"token": place}
    for how, names in (("value_", ("v",)), ("", TOKENS)):
        changed = replace_tokens(trial, slice(place, place + 1), names)
        rows, size = changed_rows(trial.call(changed), trial.result, place)
        before = place - rows[0] if rows else 0
        figures |= {f"{how}rows": len(rows), f"{how}rows_before": before, f"{how}largest": round(size, 4)}
    return Judgement(True, figures)


def causality_by_block(trial: Trial) -> Judgement:
    """Change values, which select nothing: no row before the block changes, without its mean none before."""
    import numpy as np

    w = trial.workload
    place = min(edge(w) + w.block // 2, w.seq - 1)
    changed = replace_tokens(trial, slice(place, None), ("v",))
    begin = place // w.block * w.block
    rows, size = changed_rows(trial.call(changed), trial.result, begin)
    what = f"{len(rows)} rows before the block of token {place} change with its value"
    if not rows and "gates" in trial.inputs:
        gates = np.array(trial.inputs["gates"])
        gates[..., 0] = 0
        rows, size = changed_rows(
            trial.call({**changed, "gates": gates}), trial.call({"gates": gates}), place
        )
        what = f"{len(rows)} rows before token {place} change with its value although no means are read"
    reason = f"{what}; the first is {rows[0]}" if rows else ""
    return Judgement(not rows, {"rows": len(rows), "largest": size}, reason)


def causality_by_tile(trial: Trial) -> Judgement:
    """A tile is the unit of selection: a token in it or later must not change a row of an earlier tile."""
    w = trial.workload
    last = (w.seq - 1) // w.tile * w.tile
    total, largest, reason = 0, 0.0, ""
    for place in sorted({min(last + w.block // 2, w.seq - 1), w.seq - 1}):
        # a block that begins in the previous tile may be selected there, with all its tokens
        begin = place // w.block * w.block // w.tile * w.tile
        rows, size = changed_rows(trial.call(replace_tokens(trial, slice(place, None))), trial.result, begin)
        total, largest = total + len(rows), max(largest, size)
        if rows and not reason:
            reason = f"{len(rows)} rows before token {place}'s tile change with it; the first is {rows[0]}"
    return Judgement(not total, {"rows": total, "largest": largest}, reason)


def selection_leak(trial: Trial) -> Judgement:
    """Change the last query so much that it dominates its tile's mean; earlier rows should not change."""
    import numpy as np

    w = trial.workload
    place = w.seq - 1
    queries = np.array(trial.inputs["q"])
    queries[:, place] = cast(-w.tile * to_f64(queries[:, place]), w.dtype)
    rows, size = changed_rows(trial.call({"q": queries}), trial.result, place)
    before = place - rows[0] if rows else 0
    return Judgement(
        True, {"token": place, "rows": len(rows), "rows_before": before, "largest": round(size, 4)}
    )


def finite_sentinel(trial: Trial, *, dense: bool = False) -> Judgement:
    """Use logits far below any finite substitute for −inf, equal for all keys but a tile's last block.

    That block has the highest scores, so the tile's other rows may see no selected key. Columns of values are
    1 from some token on: they return the weight of what a row must not see.
    """
    import numpy as np

    w = probe(trial.workload, batch=3)
    power = 16 if w.dtype != "f16" else np.floor(np.log2(6e4 / w.head_dim**0.5) / 2)
    tokens = np.arange(w.seq)
    k = np.full(w.seq, 2.0**power)
    k[tokens % w.tile >= w.tile - w.block] /= 2
    begins = np.arange(w.head_dim) * w.seq // w.head_dim
    values = (tokens[:, None] >= begins)[:, None]
    gates = np.eye(3)[:, None, None]
    got = solve(trial, w, q=-(2.0**power), k=k[:, None, None], v=values, gates=gates)
    reach = tokens + 1
    if not dense:  # a mean covers its whole block, for any query
        reach = np.stack([(tokens // w.block + 1) * w.block, reach, reach])
    hidden = begins >= reach[..., None]
    leaked = int((hidden[..., None, :] & (got != 0)).any(axis=(2, 3)).sum())
    everything = got[[SELECTED, WINDOW], w.tile - 1 :: w.tile, :, 0]
    lost = int((~(np.abs(everything - 1) < SLACK)).sum())
    text = f"{leaked} rows read later tokens, {lost} at the end of a tile read nothing"
    return Judgement(
        not leaked + lost, {"leaked_rows": leaked, "lost_rows": lost}, text if leaked + lost else ""
    )
