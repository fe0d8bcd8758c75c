"""The family's checks: objections to TransformerEngine's lengths and offsets (#2522) as pass/fail tests.

A contract compares an implementation with the definition on the seeded inputs of one layout. The checks use
rows that those inputs never contain: more segments than slots, ids beyond max_segments, no segments, and rows
of different shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness import Check, Judgement, Trial

from ._checks_golden import GOLDEN, VECTORS, answer_of, difference, inputs_of, workload_of
from .reference import zero_empty

Answer = tuple[Any, ...]


def solve(trial: Trial, names: Sequence[str]) -> dict[str, Answer]:
    """The implementation's answers to these vectors, computed in one batch."""
    import numpy as np

    parts = trial.solve(workload_of(trial.workload, len(names)), inputs_of(names))
    return {name: tuple(np.asarray(part)[at] for part in parts) for at, name in enumerate(names)}


def alone(trial: Trial, name: str) -> Answer:
    return solve(trial, (name,))[name]


def wrong(trial: Trial, name: str) -> str:
    """How the answer to a vector differs; if it differs in the full batch, the vector is judged by itself."""
    want = answer_of(name, trial.workload.kind)
    text = difference(solve(trial, tuple(VECTORS))[name], want)
    return text and difference(alone(trial, name), want)


def _golden(trial: Trial) -> Judgement:
    differ = {name: text for name in GOLDEN if (text := wrong(trial, name))}
    reason = ""
    if differ:
        first = next(iter(differ))
        reason = f"{', '.join(differ)} differ; {first}: {differ[first]}"
    return Judgement(not differ, {"vectors": len(GOLDEN), "differ": len(differ)}, reason)


def _gives(name: str) -> Callable[[Trial], Judgement]:
    """The judge for a single vector."""

    def judge(trial: Trial) -> Judgement:
        text = wrong(trial, name)
        return Judgement(not text, {}, text)

    return judge


def _batch_equals_per_row(trial: Trial) -> Judgement:
    """Compare a batch with the implementation's own answers to the single rows, whether right or wrong."""
    rows = ("G10a", "G10b")
    together = solve(trial, rows)
    differ = {name: text for name in rows if (text := difference(together[name], alone(trial, name)))}
    reason = "; ".join(f"for {name} in a batch, {text} as for this row" for name, text in differ.items())
    return Judgement(not differ, {"rows": len(rows), "differ": len(differ)}, reason)


def _intra_segment_padding(trial: Trial) -> Judgement:
    """Three starts for two segments, and a first length that is shorter than its segment's span."""
    text = wrong(trial, "G2")
    starts = {
        f"starts_{side}": int((part >= 0).sum())
        for side, part in zip(("q", "kv"), solve(trial, tuple(VECTORS))["G2"][2:], strict=True)
    }
    return Judgement(not text, {**starts, "segments": 2}, text)


def _empty_length_spelling(trial: Trial) -> Judgement:
    """Unused slots of a row without segments must all be 0 or all be −1, not a mixture."""
    lengths = sorted({int(n) for part in solve(trial, tuple(VECTORS))["G9"][:2] for n in part})
    return Judgement(True, {"empty": lengths[0] if len(lengths) == 1 else " and ".join(map(str, lengths))})


def _cu_seqlens_round_trip(trial: Trial) -> Judgement:
    """On the seeded inputs: compare the ids that lengths and starts describe with those of cu_seqlens."""
    import numpy as np

    result = [np.asarray(part) for part in zero_empty(trial.result)]
    bad = []
    for side, lengths, starts in zip(("q", "kv"), result[:2], result[2:], strict=True):
        ids = trial.inputs[f"segment_ids_{side}"]
        for number, row in enumerate(ids):
            cu_seqlens = np.concatenate([[0], np.cumsum(lengths[number])])
            counts = np.diff(cu_seqlens)
            packed = np.repeat(np.arange(1, len(counts) + 1), counts)
            placed = np.zeros_like(row)
            for segment, start in zip(np.flatnonzero(counts), starts[number], strict=False):
                placed[max(start, 0) : max(start, 0) + counts[segment]] = segment + 1
            if not np.array_equal(packed, row[row != 0]):
                bad.append(f"the {side} tokens of row {number} are not the number that its cu_seqlens give")
            elif not np.array_equal(placed, row):
                bad.append(f"the {side} ids of row {number} cannot be rebuilt from cu_seqlens and offsets")
            elif (starts[number][np.count_nonzero(counts) :] != -1).any():
                bad.append(f"row {number} has a {side} offset after its last segment")
    rows = 2 * len(trial.inputs["segment_ids_q"])
    return Judgement(not bad, {"rows": rows, "lost": len(bad)}, bad[0] if bad else "")


def plain(w: Any) -> bool:
    """Vectors cover every layout and have their own size, so they run only for the cases of one layout."""
    return w.layout == "self" and not w.head_dim


CHECKS = (
    Check(
        "golden",
        "masks other than causal, cross-attention and ring stripes came without a test "
        "(review of TransformerEngine #2522)",
        _golden,
        when=plain,
    ),
    Check(
        "batch_equals_per_row",
        "the shortcut reads every row's positions from the first row (TransformerEngine #2522); "
        "a batched THD descriptor was wrong for two rows (marin #5749)",
        _batch_equals_per_row,
        when=plain,
    ),
    Check(
        "intra_segment_padding",
        "padding inside a segment was said to be supported, and starts the segment a second time "
        "(review of TransformerEngine #2522)",
        _intra_segment_padding,
        when=plain,
    ),
    Check(
        "many_gaps",
        "padding inside a segment was said to be supported, with no limit on the number of gaps "
        "(review of TransformerEngine #2522)",
        _gives("gaps"),
        when=plain,
    ),
    Check(
        "ids_above_max_segments",
        "ids beyond max_segments make the offsets of one side unusable (TransformerEngine #2522, as merged)",
        _gives("G7"),
        when=plain,
    ),
    Check(
        "more_segments_than_slots",
        "with more segments than slots, one side loses its last offset (TransformerEngine #2522, as merged)",
        _gives("G8"),
        when=plain,
    ),
    Check(
        "all_padding",
        "a row of only padding has no segment, and so no start at its first token (TransformerEngine #2522)",
        _gives("G9"),
        when=plain,
    ),
    Check(
        "short_striped_segments",
        "the fill value −1 exceeds the keys of a ring's short segments (TransformerEngine #2522, as merged)",
        _gives("short"),
        when=lambda w: plain(w) and w.kind == "bottom_right",
    ),
    Check(
        "empty_length_spelling",
        "an unused slot is 0 in one version and −1 in the other (TransformerEngine #2522, first version)",
        _empty_length_spelling,
        when=plain,
        decides=False,
    ),
    Check(
        "cu_seqlens_round_trip",
        "kernels for packed rows read cumulative lengths and starts, so both must describe the ids "
        "(TransformerEngine #2522)",
        _cu_seqlens_round_trip,
        inputs=("segment_ids_q", "segment_ids_kv"),
        when=plain,
    ),
)
