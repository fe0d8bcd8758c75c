"""Checks of which keys a sparse branch reads, and how often, from its weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness import Judgement, Trial, leaves

from ..workload import AttentionWorkload
from .probe import (
    BEST_FIRST,
    BLOCKS,
    COMPRESSED,
    ONCE,
    SELECTED,
    SLACK,
    WINDOW,
    causal_mask,
    draw_inputs,
    probe,
    ranked_inputs,
    reading,
    relative_rms,
    rms_bound,
    solve,
    weights,
)

GROUPED = {"compressed_block": 2, "compressed_selected": 3}  # the first tile of a probe sees two groups
FEW = 5  # blocks of a probe whose selection does not matter


def no_nan_rows(trial: Trial) -> Judgement:
    """Use the seeded inputs, and a tile whose best blocks are its last, which its first rows do not see.

    All values are 1 there, so a branch returns 1, or 0 if it sees nothing.
    """
    import numpy as np

    w = probe(trial.workload, batch=3)
    keys = ranked_inputs(w, (3, 2, 1, 7, 6, 5, 11, 10, 9, 0, 4, 8))
    got = solve(trial, w, **keys, v=1.0, gates=np.eye(3)[:, None, None])
    seeded = sum(int((~np.isfinite(x.astype(np.float64))).sum()) for _, x in leaves(trial.result))
    bad = int((~((got == 0) | (np.abs(got - 1) < SLACK))).any(axis=(2, 3)).sum())
    figures = {
        "not_finite": seeded,
        "rows": bad,
        "rows_that_see_nothing": int((got == 0).all(axis=(2, 3)).sum()),
    }
    text = f"{seeded} results are not finite; {bad} rows are neither a mean of ones nor 0"
    return Judgement(not seeded + bad, figures, text if seeded + bad else "")


def _count_reads(trial: Trial, branches: tuple[int, ...]) -> tuple[float, int]:
    """(largest ratio of the heaviest to the lightest key in a row, rows for which it is too large)."""
    import numpy as np

    w = reading(trial.workload, selected=6, **GROUPED)
    most, rows = 1.0, 0
    for branch in branches:
        got = weights(trial, w, branch, **ranked_inputs(w, BEST_FIRST))
        least = np.where(got > 0, got, np.inf).min(axis=-1)
        ratio = np.where(np.isfinite(least), got.max(axis=-1) / least, 1)
        most, rows = max(most, float(ratio.max())), rows + int((~(ratio < ONCE)).any(axis=-1).sum())
    return most, rows


def unique_selected(trial: Trial, *, branches: tuple[int, ...] = (COMPRESSED, SELECTED)) -> Judgement:
    """Use nearly equal logits, and ask for more blocks than the first tile sees."""
    most, rows = _count_reads(trial, branches)
    text = f"in {rows} rows a key counts {most:.1f} times as much as another key with an equal score"
    return Judgement(not rows, {"most": round(most, 3), "rows": rows}, text if rows else "")


def duplicates_report(trial: Trial) -> Judgement:
    most, rows = _count_reads(trial, (SELECTED,))
    return Judgement(True, {"most": round(most, 3), "rows": rows})


def _misread_keys(trial: Trial) -> tuple[Any, Any]:
    """Unselected keys that were read, and selected keys that were not read: [rows, heads, keys]."""
    import numpy as np

    w = reading(trial.workload)
    tile_of = np.arange(w.seq) // w.tile
    block_of = np.arange(w.seq) // w.block
    selected = np.zeros((w.seq, BLOCKS), bool)
    for tile in range(w.seq // w.tile):
        visible = [block for block in BEST_FIRST if block * w.block < (tile + 1) * w.tile]
        selected[np.ix_(tile_of == tile, visible[: w.selected])] = True
    keys = selected[:, None, block_of] & causal_mask(w)
    read = weights(trial, w, SELECTED, **ranked_inputs(w, BEST_FIRST)) != 0
    return read & ~keys, keys & ~read


def superset(trial: Trial, *, decides: bool = True) -> Judgement:
    """Let blocks score in a known order, without neighbours: any other key that is read was not selected."""
    unselected, missing = _misread_keys(trial)
    extra = unselected.sum(axis=-1)
    figures = {
        "extra_mean": round(float(extra.mean()), 3),
        "extra_most": int(extra.max()),
        "missing": int(missing.sum()),
    }
    text = f"up to {extra.max()} unselected keys are read, {missing.sum()} selected keys are not read"
    wrong = decides and bool(extra.any() or missing.any())
    return Judgement(not wrong, figures, text if wrong else "")


def forced_blocks(trial: Trial) -> Judgement:
    """The first block, the query's own and the one before must be read, `selected` in total, each whole."""
    import numpy as np

    w = reading(trial.workload, selected=5)
    read = weights(trial, w, SELECTED, **ranked_inputs(w, BEST_FIRST)) != 0
    blocks = read.reshape(w.seq, w.heads, BLOCKS, w.block).any(axis=-1)
    own_block = np.arange(w.seq) // w.block
    forced = np.stack(
        [blocks[np.arange(w.seq), :, at] for at in (0 * own_block, own_block, np.maximum(own_block - 1, 0))]
    )
    count = np.minimum(w.selected, own_block + 1)[:, None]
    whole = np.repeat(blocks, w.block, axis=-1) & causal_mask(w)
    wrong = {
        "not_forced": int((~forced).any(axis=(0, 2)).sum()),
        "other_count": int((blocks.sum(axis=-1) != count).any(axis=-1).sum()),
        "not_whole": int((whole != read).any(axis=(1, 2)).sum()),
    }
    text = ", ".join(f"{name.replace('_', ' ')} in {rows} rows" for name, rows in wrong.items() if rows)
    return Judgement(not text, wrong, text)


def window_width(trial: Trial, *, more: int = 0, decides: bool = True) -> Judgement:
    """Count keys with nonzero weight in the window's branch: `window` of them, including the query's own."""
    import numpy as np

    figures: dict[str, float | int | str | None] = {}
    reason = ""
    for window in (1, min(trial.workload.window, BLOCKS * 2 + 3)):
        w = reading(trial.workload, blocks=FEW, window=window)
        read = weights(trial, w, WINDOW, q=0.0, k=0.0) != 0
        at = np.arange(w.seq)
        expected = (at <= at[:, None]) & (at > at[:, None] - window - more)
        figures[f"keys_at_{window}"] = int(read.sum(axis=-1).max())
        if (read != expected[:, None]).any() and not reason:
            row = int(np.argmax((read != expected[:, None]).any(axis=(1, 2))))
            reason = f"row {row} reads {read[row, 0].sum()} keys; window {window} means {expected[row].sum()}"
    return Judgement(not (decides and reason), figures, reason if decides else "")


def odd_blocks(trial: Trial) -> Judgement:
    """13 blocks, in tiles of 4 and groups of 5: the last of each is not full, and has the best score."""
    import numpy as np

    groups = {"compressed_block": 5, "compressed_selected": 1}
    w = probe(trial.workload, blocks=BLOCKS + 1, batch=2, **groups)
    best = (np.arange(w.seq) >= BLOCKS * w.block)[:, None, None]
    values = np.where(np.arange(w.head_dim) % 2, 1.0, best)
    gates = np.eye(3)[:2, None, None]
    got = solve(trial, w, **ranked_inputs(w, range(BLOCKS, -1, -1)), v=values, gates=gates)[:, -1]
    unread = int((got[..., ::2] <= 0).any(axis=-1).sum())
    off = int((~(np.abs(got[..., 1::2] - 1) < SLACK)).any(axis=-1).sum())
    text = f"{unread} heads of branches do not read the last block of 13, weights of {off} do not sum to 1"
    return Judgement(not unread + off, {"unread": unread, "off": off}, text if unread + off else "")


def gqa(trial: Trial, *, alone: bool = True) -> Judgement:
    """Give every query head its own copy of its key head: the answer must not change.

    If a key head's query heads select together (`alone` is false), all blocks are selected.
    """
    worst = 0.0
    for heads, kv_heads in ((8, 2), (16, 1)):
        fields = {"heads": heads, "kv_heads": kv_heads, "selected": 3 if alone else FEW}
        w = probe(trial.workload, blocks=FEW, **fields)
        inputs = draw_inputs(w)
        apiece = {name: inputs[name].repeat(heads // kv_heads, axis=2) for name in ("k", "v")}
        grouped = solve(trial, w, **inputs)
        ungrouped = solve(trial, replace(w, kv_heads=heads), **{**inputs, **apiece})
        worst = max(worst, relative_rms(grouped, ungrouped))
    return _near(trial.workload, worst, "with copies of its key head")


def uniform_gates(trial: Trial) -> Judgement:
    """Gates of 1/3 give the same result as no gates: the mean of the branches."""
    w = probe(trial.workload)
    inputs = draw_inputs(w)
    one = solve(trial, w, **{**inputs, "gates": 1 / 3})
    bare = {name: array for name, array in inputs.items() if name != "gates"}
    other = solve(trial, replace(w, gated=False), **bare)
    return _near(trial.workload, relative_rms(one, other), "without gates")


def _near(w: AttentionWorkload, distance: float, against: str) -> Judgement:
    bound = rms_bound(w)
    text = f"relative RMS {distance:.2e} from the answer {against}; {bound:.0e} is allowed"
    held = distance <= bound
    return Judgement(held, {"relative_rms": distance, "relative_rms_bound": bound}, "" if held else text)
