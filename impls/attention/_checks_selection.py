"""Which keys a sparse branch reads, and how often each: seen through its weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness import Judgement, Trial, leaves

from ._checks_probe import (
    BEST_FIRST,
    BLOCKS,
    COMPRESSED,
    ONCE,
    SELECTED,
    SLACK,
    WINDOW,
    allowed,
    apart,
    drawn,
    past,
    probe,
    ranked,
    reading,
    solved,
    weights,
)
from .workload import AttentionWorkload

GROUPED = {"compressed_block": 2, "compressed_selected": 3}  # the first tile of a probe sees two groups
FEW = 5  # blocks of a probe that selects nothing of interest


def no_nan_rows(trial: Trial) -> Judgement:
    """On the seeded inputs; and where a tile's best blocks are its last, which its first rows do not see.

    All values are 1 there, and so is what a branch returns, or 0 where it sees nothing.
    """
    import numpy as np

    w = probe(trial.workload, batch=3)
    keys = ranked(w, (3, 2, 1, 7, 6, 5, 11, 10, 9, 0, 4, 8))
    got = solved(trial, w, **keys, v=1.0, gates=np.eye(3)[:, None, None])
    seeded = sum(int((~np.isfinite(x.astype(np.float64))).sum()) for _, x in leaves(trial.result))
    bad = int((~((got == 0) | (np.abs(got - 1) < SLACK))).any(axis=(2, 3)).sum())
    figures = {
        "not_finite": seeded,
        "rows": bad,
        "rows_that_see_nothing": int((got == 0).all(axis=(2, 3)).sum()),
    }
    text = f"{seeded} results are not finite; {bad} rows are neither a mean of ones nor 0"
    return Judgement(not seeded + bad, figures, text if seeded + bad else "")


def _counted(trial: Trial, branches: tuple[int, ...]) -> tuple[float, int]:
    """How much more the heaviest key weighs than the lightest in a row, and rows where that is too much."""
    import numpy as np

    w = reading(trial.workload, selected=6, **GROUPED)
    most, rows = 1.0, 0
    for branch in branches:
        got = weights(trial, w, branch, **ranked(w, BEST_FIRST))
        least = np.where(got > 0, got, np.inf).min(axis=-1)
        times = np.where(np.isfinite(least), got.max(axis=-1) / least, 1)
        most, rows = max(most, float(times.max())), rows + int((~(times < ONCE)).any(axis=-1).sum())
    return most, rows


def unique_selected(trial: Trial, *, branches: tuple[int, ...] = (COMPRESSED, SELECTED)) -> Judgement:
    """Logits are nearly equal, and more blocks are asked for than the first tile sees."""
    most, rows = _counted(trial, branches)
    text = f"in {rows} rows a key counts {most:.1f} times as much as another of equal score"
    return Judgement(not rows, {"most": round(most, 3), "rows": rows}, text if rows else "")


def duplicates_report(trial: Trial) -> Judgement:
    most, rows = _counted(trial, (SELECTED,))
    return Judgement(True, {"most": round(most, 3), "rows": rows})


def _beside(trial: Trial) -> tuple[Any, Any]:
    """Keys read that the tile did not select, and selected ones that were not read: [rows, heads, keys]."""
    import numpy as np

    w = reading(trial.workload)
    tile_of = np.arange(w.seq) // w.tile
    block_of = np.arange(w.seq) // w.block
    wanted = np.zeros((w.seq, BLOCKS), bool)
    for tile in range(w.seq // w.tile):
        seen = [block for block in BEST_FIRST if block * w.block < (tile + 1) * w.tile]
        wanted[np.ix_(tile_of == tile, seen[: w.selected])] = True
    keys = wanted[:, None, block_of] & past(w)
    read = weights(trial, w, SELECTED, **ranked(w, BEST_FIRST)) != 0
    return read & ~keys, keys & ~read


def superset(trial: Trial, *, decides: bool = True) -> Judgement:
    """Blocks score in a known order, without neighbours: what else is read was not selected."""
    beside, missing = _beside(trial)
    extra = beside.sum(axis=-1)
    figures = {
        "extra_mean": round(float(extra.mean()), 3),
        "extra_most": int(extra.max()),
        "missing": int(missing.sum()),
    }
    text = f"up to {extra.max()} keys are read beside the selected ones, {missing.sum()} of those are not"
    wrong = decides and bool(extra.any() or missing.any())
    return Judgement(not wrong, figures, text if wrong else "")


def forced_blocks(trial: Trial) -> Judgement:
    """The first block, the query's own and the one before it are read, `selected` in all, each whole."""
    import numpy as np

    w = reading(trial.workload, selected=5)
    read = weights(trial, w, SELECTED, **ranked(w, BEST_FIRST)) != 0
    blocks = read.reshape(w.seq, w.heads, BLOCKS, w.block).any(axis=-1)
    own = np.arange(w.seq) // w.block
    forced = np.stack([blocks[np.arange(w.seq), :, at] for at in (0 * own, own, np.maximum(own - 1, 0))])
    count = np.minimum(w.selected, own + 1)[:, None]
    whole = np.repeat(blocks, w.block, axis=-1) & past(w)
    wrong = {
        "not_forced": int((~forced).any(axis=(0, 2)).sum()),
        "other_count": int((blocks.sum(axis=-1) != count).any(axis=-1).sum()),
        "not_whole": int((whole != read).any(axis=(1, 2)).sum()),
    }
    text = ", ".join(f"{name.replace('_', ' ')} in {rows} rows" for name, rows in wrong.items() if rows)
    return Judgement(not text, wrong, text)


def window_width(trial: Trial, *, more: int = 0, decides: bool = True) -> Judgement:
    """Keys of nonzero weight in the window's branch: `window` of them, the query's own among them."""
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
            reason = (
                f"row {row} reads {read[row, 0].sum()} keys; with window {window} it is {expected[row].sum()}"
            )
    return Judgement(not (decides and reason), figures, reason if decides else "")


def odd_blocks(trial: Trial) -> Judgement:
    """13 blocks, in tiles of 4 and groups of 5: the last of each is not full, and holds the best score."""
    import numpy as np

    groups = {"compressed_block": 5, "compressed_selected": 1}
    w = probe(trial.workload, blocks=BLOCKS + 1, batch=2, **groups)
    best = (np.arange(w.seq) >= BLOCKS * w.block)[:, None, None]
    values = np.where(np.arange(w.head_dim) % 2, 1.0, best)
    gates = np.eye(3)[:2, None, None]
    got = solved(trial, w, **ranked(w, range(BLOCKS, -1, -1)), v=values, gates=gates)[:, -1]
    unread = int((got[..., ::2] <= 0).any(axis=-1).sum())
    off = int((~(np.abs(got[..., 1::2] - 1) < SLACK)).any(axis=-1).sum())
    text = f"the last block of 13 is not read by {unread} heads of branches, weights of {off} do not sum to 1"
    return Judgement(not unread + off, {"unread": unread, "off": off}, text if unread + off else "")


def gqa(trial: Trial, *, alone: bool = True) -> Judgement:
    """With a key head of its own for every query head, each a copy, the answer is the same.

    Where a key head's query heads select together (`alone` is false) all blocks are selected.
    """
    worst = 0.0
    for heads, kv_heads in ((8, 2), (16, 1)):
        fields = {"heads": heads, "kv_heads": kv_heads, "selected": 3 if alone else FEW}
        w = probe(trial.workload, blocks=FEW, **fields)
        inputs = drawn(w)
        apiece = {name: inputs[name].repeat(heads // kv_heads, axis=2) for name in ("k", "v")}
        one = solved(trial, w, **inputs)
        other = solved(trial, replace(w, kv_heads=heads), **{**inputs, **apiece})
        worst = max(worst, apart(one, other))
    return _near(trial.workload, worst, "with its key head's copies")


def uniform_gates(trial: Trial) -> Judgement:
    """Gates of 1/3 give what no gates do: the mean of the branches."""
    w = probe(trial.workload)
    inputs = drawn(w)
    one = solved(trial, w, **{**inputs, "gates": 1 / 3})
    bare = {name: array for name, array in inputs.items() if name != "gates"}
    other = solved(trial, replace(w, gated=False), **bare)
    return _near(trial.workload, apart(one, other), "without gates")


def _near(w: AttentionWorkload, distance: float, against: str) -> Judgement:
    bound = allowed(w)
    text = f"off by {distance:.2e} relative RMS from the answer {against}; {bound:.0e} is allowed"
    held = distance <= bound
    return Judgement(held, {"relative_rms": distance, "relative_rms_bound": bound}, "" if held else text)
