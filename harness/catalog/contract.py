"""Contracts: what "equal to the reference" means for a semantics.

A contract is exact, or its bound comes from theory and is stated where it is used; it is never
a tolerance picked to make an implementation pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Evidence:
    """What a contract judges. Arrays are numpy arrays on the host.

    `result` and `expected` are trees of the same form (an array, or a tuple or dict of them). When
    `rows` is given, both hold only those rows of their axis 1. `ambiguous`, where the semantics
    has any, is a boolean array over the leading axes of `expected`: true where arithmetic error
    alone may decide the answer (a near-tied selection), so that nothing is judged there.
    """

    workload: Any
    inputs: Mapping[str, Any]
    result: Any
    expected: Any
    rows: Any = None
    ambiguous: Any = None


@dataclass(frozen=True)
class Judgement:
    """`reason` is one sentence that says what differs, needed when the contract failed."""

    passed: bool
    figures: Mapping[str, float | int | str | None] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class Contract:
    """`name` stands in records: `exact`, `tolerance`, `recall` or a family's own word."""

    name: str
    judge: Callable[[Evidence], Judgement]


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, array) of every leaf of a tree of tuples, lists and dicts."""
    if isinstance(tree, Mapping):
        for name in sorted(tree):
            yield from leaves(tree[name], f"{path}.{name}" if path else str(name))
    elif isinstance(tree, (tuple, list)):
        for index, branch in enumerate(tree):
            yield from leaves(branch, f"{path}[{index}]")
    else:
        yield path or "result", tree


def _pairs(evidence: Evidence) -> tuple[list[tuple[str, Any, Any]], Judgement | None]:
    """Leaves of result and expected side by side, or the failed judgement that they do not match."""
    import numpy as np

    got, want = dict(leaves(evidence.result)), dict(leaves(evidence.expected))
    if got.keys() != want.keys():
        text = f"the result has parts {', '.join(got)}; the reference has {', '.join(want)}"
        return [], Judgement(False, {"mismatches": None}, text)
    pairs = []
    for path, reference in want.items():
        left, right = np.asarray(got[path]), np.asarray(reference)
        if left.shape != right.shape:
            text = f"{path} has shape {left.shape}; the reference has {right.shape}"
            return [], Judgement(False, {"mismatches": None}, text)
        pairs.append((path, left, right))
    return pairs, None


def exact(normalise: Callable[[Any], Any] | None = None) -> Contract:
    """Every element equal to the reference's. `normalise` maps conventions onto one first."""

    def judge(evidence: Evidence) -> Judgement:
        import numpy as np

        if normalise is not None:
            evidence = Evidence(
                evidence.workload,
                evidence.inputs,
                normalise(evidence.result),
                normalise(evidence.expected),
                evidence.rows,
            )
        pairs, failed = _pairs(evidence)
        if failed:
            return failed
        total, first = 0, ""
        for path, got, want in pairs:
            different = ~((got == want) | (_is_nan(got) & _is_nan(want)))
            count = int(np.count_nonzero(different))
            if count and not first:
                at = tuple(int(i) for i in np.argwhere(different)[0])
                first = f"{path}{list(at)} is {got[at]}; the reference has {want[at]}"
            total += count
        reason = f"{total} elements differ; {first}" if total else ""
        return Judgement(total == 0, {"mismatches": total}, reason)

    return Contract("exact", judge)


def _is_nan(array: Any) -> Any:
    import numpy as np

    return np.not_equal(array, array)


def tolerance(relative_rms: Mapping[str, float], *, cancelling: bool = False) -> Contract:
    """Relative RMS error within the bound for the workload's dtype, and no element far off.

    `relative_rms` maps dtype to the bound that the family derives and documents. The largest
    single error is held to the bound times √(2 ln 2N) times the RMS of its row (the last axis of
    the reference): what the largest of N Gaussian errors of the allowed size would reach. A row
    that the reference leaves at exactly zero must be exactly zero. `cancelling` is for gradients,
    whose rows may cancel (softmax over a single key has none) while the errors of their terms do
    not: there every row is held to the RMS of the largest.
    """

    def judge(evidence: Evidence) -> Judgement:
        bound = relative_rms[evidence.workload.dtype]
        pairs, failed = _pairs(evidence)
        if failed:
            return failed
        figures: dict[str, float | int | str | None] = {"relative_rms_bound": bound}
        worst_rms, worst_share, reason = 0.0, 0.0, ""
        for path, got, want in pairs:
            rms, share, why = _deviation(path, got, want, evidence.ambiguous, bound, cancelling=cancelling)
            worst_rms, worst_share = max(worst_rms, rms), max(worst_share, share)
            reason = reason or why
        figures["relative_rms"] = worst_rms
        figures["largest_error_of_allowed"] = worst_share
        if evidence.ambiguous is not None:
            figures["ambiguous"] = int(evidence.ambiguous.sum())
        return Judgement(not reason, figures, reason)

    return Contract("tolerance", judge)


def _deviation(
    path: str, got: Any, want: Any, ambiguous: Any, bound: float, *, cancelling: bool
) -> tuple[float, float, str]:
    """(relative RMS error, largest error as a share of the allowed one, reason when too large)."""
    import numpy as np

    got, want = got.astype(np.float64), want.astype(np.float64)
    if ambiguous is not None and want.shape[: ambiguous.ndim] == ambiguous.shape:
        got, want = got[~ambiguous], want[~ambiguous]
    if want.size == 0:
        return 0.0, 0.0, ""
    if not np.isfinite(got).all():
        at = [int(i) for i in np.argwhere(~np.isfinite(got))[0]]
        return math.inf, math.inf, f"{path}{at} is not finite; the reference is"
    error = np.abs(got - want)
    scale = float(np.sqrt(np.mean(np.square(want))))
    rms = float(np.sqrt(np.mean(np.square(error)))) / scale if scale else float(error.max())
    row = np.sqrt(np.mean(np.square(want), axis=-1, keepdims=True)) if want.ndim else np.abs(want)
    if cancelling:
        row = np.full_like(row, row.max())
    allowed = bound * math.sqrt(2 * math.log(2 * want.size)) * row
    over = np.where(allowed > 0, error / np.where(allowed > 0, allowed, 1), np.where(error > 0, np.inf, 0))
    share = float(over.max())
    if rms > bound:
        return rms, share, f"{path} is off by {rms:.2e} relative RMS; {bound:.0e} is allowed"
    if share > 1:
        at = [int(i) for i in np.unravel_index(int(over.argmax()), over.shape)]
        text = f"{path}{at} is off by {share:.3g} times the largest error that rounding explains"
        return rms, share, text
    return rms, share, ""
