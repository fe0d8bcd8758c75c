"""The family's checks: objections to approximate top-k in an indexer (MaxText #4243) and similar code.

A contract judges the mean recall of the seeded rows. The checks use a larger sample and its error, and
placements, rows and weights that a mean over random scores does not show.
"""

from __future__ import annotations

from typing import Any

from harness import Check, Judgement, Trial, Unsupported

from .._approx_plan import EXACT_BY_FALLBACK, FIRST_STAGE, expected_recall_of, plan_of
from .._contracts import found_shares
from .edges import edge_rows, order
from .recall import count_found, judge_bound, on_stride, sampled_shares, selected_and_best

STRIDES = (128, 1024, 2048, 4096, 16384)  # a TPU's lanes, and numbers of buckets in use


def _recall_target_strict(trial: Trial) -> Judgement:
    return judge_bound(trial, "recall", sampled_shares(trial))


def _softmax(want: Any) -> Any:
    import numpy as np

    top = want[:, -1:]
    closed = np.isneginf(top)  # a row of −inf loses nothing, whatever is found
    return lambda scores: np.where(closed, 1.0, np.exp(scores - np.where(closed, 0.0, top)))


def _attention_mass_recall(trial: Trial) -> Judgement:
    """Treat scores as logits: the share found of the softmax over the true selection.

    A larger score is at least as likely to be found as a smaller one, so the expected share of the mass is at
    least the expected recall (Chebyshev's sum inequality).
    """
    return judge_bound(trial, "mass", sampled_shares(trial, _softmax))


def _positive(want: Any) -> Any:
    import numpy as np

    least = want.min(axis=1, keepdims=True)
    # A share of a sum is meaningless if some terms are not positive; then each score counts as one.
    plain = ~np.isfinite(least) | (least <= 0)
    return lambda scores: np.where(plain, 1.0, scores)


def _value_recall(trial: Trial) -> Judgement:
    """The share of the sum of the largest, by the same inequality, if all of them are positive."""
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
    """Put the largest into as few buckets as possible: each bucket must keep exactly `keep` of them.

    An early return to the exact selection finds all of them, and so does an implementation that ignores its
    options.
    """
    w, options = trial.workload, trial.options
    if not {"buckets", "keep"} <= set(options):
        raise Unsupported("no plan of buckets; the case's facts say what the operator did")
    buckets, keep = options["buckets"], options["keep"]
    full, rest = divmod(w.topk, w.seq // buckets)
    want = full * keep + min(rest, keep)
    counts = count_found(trial, on_stride(w, buckets))
    wrong = counts[counts != want]
    text = ""
    if len(wrong):
        text = f"found {int(wrong[0])} of {w.topk}, but {buckets} buckets of {keep} keep {want}"
    return Judgement(not text, {"found": float(counts.mean()), "plan": want}, text)


def _placement(trial: Trial) -> Judgement:
    """Recall if the largest are neighbours, and if they are a stride apart; the worst row of each."""
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
        "the operator plans no approximation at the tested shape, and makes none off a TPU (MaxText #4243)",
        _approximation_engaged,
        semantics=("recall",),
        decides=False,
    ),
    Check(
        "arm_executed",
        "an early return let a test pass without running its case (MaxText #4243; TensorRT-LLM #18702)",
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
        "on rows of a real indexer, coarse keys found only 0.53 of the selection (sglang #37591)",
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
        "the bound on recall assumes random placement; neighbouring scores are alike (arXiv 2506.04165)",
        _placement,
        semantics=("recall",),
        decides=False,
    ),
    Check(
        "order",
        "lax.top_k returns descending scores, ties by index; others promise neither (MaxText #4243)",
        order,
        inputs=("scores",),
        decides=False,
    ),
    Check(
        "edge_rows",
        "a causal mask leaves rows of −inf, and a NaN takes a place in the selection (MaxText #4437)",
        edge_rows,
        inputs=("scores",),
    ),
)
