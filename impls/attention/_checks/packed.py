"""Checks of packed sequences: each must get the same answer as by itself, forward and backward."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from harness import Judgement, Trial, cast

from .._bounds import GRADIENT
from .probe import (
    SELECTED,
    SLACK,
    branch_gates,
    draw_inputs,
    probe,
    relative_rms,
    rms_bound,
    solve,
    to_f64,
)

LENGTHS = (1, 15, 255, 257, 500)  # around nothing, a short block, and the published tile of 256
TILE = 256


def varlen_equals_per_sequence(trial: Trial) -> Judgement:
    """Compare with the same sequences one at a time; others' contents must not change a bit.

    The last query of a sequence sees its tile's picks, so its weights in the selected branch sum to 1.
    """
    import numpy as np

    cuts = np.cumsum((0, *LENGTHS))
    case = trial.workload
    w = replace(
        probe(case, varlen=True, segments=len(LENGTHS), seq=int(cuts[-1]), causal=case.causal),
        block=case.block,
        window=case.window,
        tile=min(case.tile, TILE),
    )
    inputs = draw_inputs(w)
    whole = solve(trial, w, **inputs, cu_seqlens=cuts)
    worst, which = 0.0, 0
    for (begin, end), length in zip(pairwise(cuts.tolist()), LENGTHS, strict=True):
        sequence = {name: x[:, begin:end] for name, x in inputs.items()}
        alone = solve(trial, replace(w, seq=length, segments=1), **sequence, cu_seqlens=np.array([0, length]))
        worst, which = max((worst, which), (relative_rms(whole[:, begin:end], alone), length))
    odd = np.repeat(np.arange(len(LENGTHS)) % 2, LENGTHS) == 1
    touched = 0
    for others in (odd, ~odd):
        changed = {name: _other_numbers(x, others) for name, x in inputs.items()}
        again = solve(trial, w, **changed, cu_seqlens=cuts)
        touched += int((again != whole).any(axis=(0, 2, 3))[~others].sum())
    sums = solve(trial, w, **{**inputs, "v": 1.0, "gates": branch_gates(SELECTED)}, cu_seqlens=cuts)[
        :, cuts[1:] - 1
    ]
    unread = int((~(np.abs(sums - 1) < SLACK)).any(axis=(0, 2, 3)).sum())
    bound = rms_bound(case)
    reason = ""
    if not worst <= bound:
        reason = f"the sequence of {which} differs by {worst:.2e} from its own answer; {bound:.0e} is allowed"
    elif touched:
        reason = f"{touched} rows change with another sequence"
    elif unread:
        reason = f"the last query of {unread} sequences reads nothing that its tile selected"
    figures = {"relative_rms": worst, "rows_touched": touched, "tails_unread": unread}
    return Judgement(not reason, figures, reason)


def varlen_gradients_apart(trial: Trial) -> Judgement:
    """Each sequence's gradients must not change with the others' contents, and must not be zero."""
    import numpy as np

    w = trial.workload
    segment = np.searchsorted(trial.inputs["cu_seqlens"][1:], np.arange(w.seq), side="right")
    lengths = np.diff(trial.inputs["cu_seqlens"])
    names = [name for name in ("q", "k", "v", "gates") if name in trial.inputs]
    before = {name: to_f64(trial.result["gradients"][name]) for name in names}
    worst = 0.0
    for others in (segment % 2 == 1, segment % 2 == 0):
        arrays = {name: _other_numbers(to_f64(trial.inputs[name]), others) for name in names}
        after = trial.call({name: cast(x, w.dtype) for name, x in arrays.items()})["gradients"]
        for name in names:
            unchanged = before[name][:, ~others]
            worst = (
                max(worst, relative_rms(to_f64(after[name])[:, ~others], unchanged))
                if unchanged.size
                else worst
            )
    long = [i for i in range(len(lengths)) if lengths[i] > 1]
    at_zero = [i for i in long for name in ("q", "k", "v") if not before[name][:, segment == i].any()]
    bound = GRADIENT[w.dtype]
    reason = ""
    if not worst <= bound:
        reason = f"gradients of a sequence change by {worst:.2e} with another; {bound:.0e} is allowed"
    elif at_zero:
        reason = f"sequence {at_zero[0]} has a zero gradient"
    return Judgement(not reason, {"relative_rms": worst, "sequences_at_zero": len(set(at_zero))}, reason)


def _other_numbers(array: Any, tokens: Any) -> Any:
    """Other numbers of the same kind, at some tokens."""
    import numpy as np

    return np.where(tokens[None, :, None, None], 1 - 2 * array, array)
