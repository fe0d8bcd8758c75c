"""Objections to an approximate top-k in an indexer (MaxText #4243) and similar code, as checks.

A contract judges the mean recall of the seeded rows; here the sample is larger and its error counts,
and a variant gets placements, rows and weights that a mean over random scores does not show.
"""

from __future__ import annotations

from typing import Any

from harness import Check, Judgement, Trial, Unsupported

from .._approx_plan import EXACT_BY_FALLBACK, FIRST_STAGE, expected_recall_of, plan_of
from .._contracts import found_shares
from .edges import edge_rows, order
from .recall import count_found, judge_bound, on_stride, sampled_shares, selected_and_best

STRIDES = (128, 1024, 2048, 4096, 16384)  # a TPU's lanes, and counts of buckets that are in use


def _recall_target_strict(trial: Trial) -> Judgement:
    return judge_bound(trial, "recall", sampled_shares(trial))


def _softmax(want: Any) -> Any:
    import numpy as np

    top = want[:, -1:]
    closed = np.isneginf(top)  # a row of −inf loses nothing, whatever is found
    return lambda scores: np.where(closed, 1.0, np.exp(scores - np.where(closed, 0.0, top)))


def _attention_mass_recall(trial: Trial) -> Judgement:
    """Scores as logits: the share of the softmax over the true selection that was found.

    A larger score is at least as likely to stay as a smaller one, so the expected share of the mass
    is no less than the expected recall (Chebyshev's sum inequality).
    """
    return judge_bound(trial, "mass", sampled_shares(trial, _softmax))


def _positive(want: Any) -> Any:
    import numpy as np

    least = want.min(axis=1, keepdims=True)
    # A share of a sum that is not of positive numbers says nothing; there each counts as one.
    plain = ~np.isfinite(least) | (least <= 0)
    return lambda scores: np.where(plain, 1.0, scores)


def _value_recall(trial: Trial) -> Judgement:
    """The share of the sum of the largest, by the same inequality, where all of them are positive."""
    return judge_bound(trial, "value", sampled_shares(trial, _positive))


def _worst_row(trial: Trial) -> Judgement:
    import numpy as np

    shares = sampled_shares(trial)
    seeded = selected_and_best(trial, trial.inputs["scores"])
    return Judgement(
        True,
        {
            "worst_row": float(shares.min()),
            "one_in_a_hundred": float(np.quantile(shares, 0.01)),
            "mean": float(shares.mean()),
            "worst_as_drawn": float(found_shares(*seeded).min()),
            "rows": shares.size,
        },
    )


def _approximation_engaged(trial: Trial) -> Judgement:
    """The plan, and whether the sample lost anything: a recall of 1 may mean nothing was approximated."""
    w = trial.workload
    shares = sampled_shares(trial)
    lost = round(float((1 - shares).sum()) * w.topk)
    theory = expected_recall_of(w, trial.static, trial.options)
    plan = plan_of(w, trial.options.get("shards", 1))
    if lost or FIRST_STAGE in trial.static.custom_calls:
        state = "engaged"
    elif theory is not None:
        state = "planned; nothing lost" if theory < 1 else "not planned: no bucket can lose any"
    elif not trial.static.program:
        state = "nothing lost"
    else:
        state = EXACT_BY_FALLBACK if plan.log2 else "not planned: no group would hold two scores"
    return Judgement(
        True,
        {
            "approximation": state,
            "planned_log2_reduction": plan.log2,
            "lost": lost,
            "of": shares.size * w.topk,
            "expected_recall": theory,
            "calls": ", ".join(trial.static.custom_calls) or None,
        },
    )


def _arm_executed(trial: Trial) -> Judgement:
    """The largest in as few buckets as hold them: those keep `keep` each, and neither more nor less.

    An early return to the exact selection finds all, as does an option that is never read.
    """
    w, options = trial.workload, trial.options
    if not {"buckets", "keep"} <= set(options):
        raise Unsupported("no plan of buckets; what the operator did is among the facts of the case")
    buckets, keep = options["buckets"], options["keep"]
    full, rest = divmod(w.topk, w.seq // buckets)
    want = full * keep + min(rest, keep)
    counts = count_found(trial, on_stride(w, buckets))
    wrong = counts[counts != want]
    text = ""
    if len(wrong):
        text = f"{int(wrong[0])} of {w.topk} were found where {buckets} buckets of {keep} keep {want}"
    return Judgement(not text, {"found": float(counts.mean()), "plan": want}, text)


def _placement(trial: Trial) -> Judgement:
    """Recall where the largest are neighbours, and where they are a stride apart; the worst row of each."""
    w = trial.workload
    first = (w.seq - w.topk) // 2
    figures: dict[str, Any] = {"run": float(count_found(trial, slice(first, first + w.topk)).min()) / w.topk}
    strides = sorted({*STRIDES, trial.options.get("buckets", STRIDES[0])})
    shares = {s: float(count_found(trial, on_stride(w, s)).min()) / w.topk for s in strides if s < w.seq}
    for stride, share in shares.items():
        figures[f"stride_{stride}"] = share
    return Judgement(True, {**figures, "worst": min(figures.values())})


CHECKS = (
    Check(
        "recall_target_strict",
        "a test with a margin of 0.05, or 0.01, lets a missed target pass (MaxText #4243, review)",
        _recall_target_strict,
        semantics=("recall",),
    ),
    Check(
        "approximation_engaged",
        "at the tested shape the operator plans no approximation, and off a TPU it does none (MaxText #4243)",
        _approximation_engaged,
        semantics=("recall",),
        decides=False,
    ),
    Check(
        "arm_executed",
        "an early return let a test pass that never ran what it tests (MaxText #4243; TensorRT-LLM #18702)",
        _arm_executed,
        semantics=("recall",),
    ),
    Check(
        "attention_mass_recall",
        "an approximate selection may affect downstream performance (MaxText #4243, review)",
        _attention_mass_recall,
        semantics=("recall",),
    ),
    Check(
        "value_recall",
        "coarse keys kept 0.53 of what was to be selected on rows of a real indexer (sglang #37591)",
        _value_recall,
        semantics=("recall",),
    ),
    Check(
        "worst_row",
        "a mean recall hides the rows that lose most (MaxText #4243)",
        _worst_row,
        semantics=("recall",),
        decides=False,
    ),
    Check(
        "placement",
        "the bound on recall holds for random placement; scores of neighbours are alike (arXiv 2506.04165)",
        _placement,
        semantics=("recall",),
        decides=False,
    ),
    Check(
        "order",
        "lax.top_k descends and takes equal scores by their index; others leave both open (MaxText #4243)",
        order,
        inputs=("scores",),
        decides=False,
    ),
    Check(
        "edge_rows",
        "a causal mask leaves rows of −inf, and a NaN takes a place of the selection (MaxText #4437)",
        edge_rows,
        inputs=("scores",),
    ),
)
