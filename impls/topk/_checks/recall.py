"""Recall on a sample of rows with scores at random places, for which plans promise their recall."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from harness import Evidence, Judgement, Trial

from .._approx_plan import expected_recall_of
from .._contracts import found_shares, interval, selection

ROWS = 256  # enough for the error of a mean recall of 0.95 to be below 0.002 at topk 64
MOST_SCORES = 1 << 24
SIGMAS = 4.0
ROUNDING = 1e-9  # theory is accurate to nine digits, and sums of weights to more


def selected_and_best(trial: Trial, scores: Any, workload: Any = None) -> tuple[Any, Any]:
    """Sorted values of the answer to these scores and of the largest, f64 [rows, topk] each.

    ValueError if the answer is not a selection. If a workload is given, the implementation is built for it.
    """
    import numpy as np

    w = workload or trial.workload
    inputs = {"scores": scores}
    result = trial.call(inputs) if workload is None else trial.solve(w, inputs)
    want = np.partition(scores.astype(np.float64), -w.topk, axis=-1)[..., -w.topk :]
    values, want, reason = selection(Evidence(w, inputs, result, (want,)))
    if reason:
        raise ValueError(reason)
    return values, want


def draws(trial: Trial) -> Iterator[Any]:
    """The seeded scores with each row's columns permuted: up to `ROWS` rows, at least two."""
    import numpy as np

    scores, random = trial.inputs["scores"], np.random.default_rng(1)
    rows = math.prod(scores.shape[:2])
    most = max(MOST_SCORES // scores.size, 1 + (rows == 1))
    words = scores.view(f"u{scores.dtype.itemsize}")  # numpy cannot permute bfloat16
    for _ in range(min(math.ceil(ROWS / rows), most)):
        yield random.permuted(words, axis=-1).view(scores.dtype)


def sampled_shares(trial: Trial, weigh: Callable[[Any], Callable[[Any], Any]] | None = None) -> Any:
    """Per sampled row, the share of the largest that was found; `weigh(want)` gives the weight of each."""
    import numpy as np

    pairs = (selected_and_best(trial, scores) for scores in draws(trial))
    return np.concatenate(
        [found_shares(values, want, weigh(want) if weigh else None) for values, want in pairs]
    )


def judge_bound(trial: Trial, name: str, shares: Any) -> Judgement:
    """Whether a sample of shares agrees with the plan's theory, if any, and with the target.

    With a plan that promises the target, the sample must not contradict either. Without a plan, the sample's
    95 % interval must be at the target or above, because nothing else supports the target.
    """
    target = trial.workload.recall
    theory = expected_recall_of(trial.workload, trial.static, trial.options)
    mean, error = float(shares.mean()), float(shares.std(ddof=1)) / math.sqrt(shares.size)
    low, high = interval(shares)
    assert low is not None
    assert high is not None
    bound = None if theory is None else theory - SIGMAS * error - ROUNDING
    figures = {name: mean, "low": low, "high": high, "theory": theory, "rows": shares.size, "target": target}
    reason = ""
    if bound is not None and mean < bound:
        reason = f"mean {mean:.4f} is over four standard errors below {theory:.4f}, that of random placement"
    elif (low if theory is None else high) < target - ROUNDING:
        reason = f"{low:.4f} to {high:.4f} at 95 % does not show the target {target:g}"
    return Judgement(not reason, figures, reason)


def count_found(trial: Trial, columns: Any) -> Any:
    """Per row, how many of these columns were found (`topk` columns, all with the largest score)."""
    import numpy as np

    scores = np.full_like(trial.inputs["scores"], -1)
    scores[..., columns] = 2
    values, _ = selected_and_best(trial, scores)
    return (values == 2).sum(axis=1)


def on_stride(w: Any, stride: int) -> Any:
    """The first `topk` columns by their remainder mod stride: in as few residue classes as possible."""
    import numpy as np

    columns = np.arange(w.seq)
    return columns[np.lexsort((columns, columns % stride))][: w.topk]
