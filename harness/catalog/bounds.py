"""Contracts with one number: an error bound that an implementation's author declares.

A family's contract is exact or follows from theory. These only check what the author promises, so the bound
is printed with every figure of the case.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.catalog.contract import (
    Contract,
    Evidence,
    Judgement,
    judged_mask,
    name_nonfinite,
    paired_leaves,
    same,
)
from harness.core.errors import UsageError


class Limit(NamedTuple):
    """A contract with one number as data: its name and the number."""

    name: str
    number: float


@dataclass(frozen=True)
class Promise:
    """An author's own semantics as numbers only, so that checking needs none of the author's code.

    `reference` is the name of one of the family's semantics; `gradient` is None if there is no backward.
    """

    reference: str
    result: Limit
    gradient: Limit | None = None


def within(*, rel_rms: float) -> Contract:
    """Each part of the result within a relative RMS error: √Σ|result − reference|² ≤ rel_rms √Σ|reference|².

    Single elements are not bounded, unlike in :func:`tolerance`, which is for rounding errors. Infinities and
    NaN must match the reference. UsageError unless the bound is between 0 and 1, the error of a result of
    zeros.
    """
    if not _is_number(rel_rms) or not 0 < rel_rms < 1:
        raise UsageError(
            f"within(rel_rms={rel_rms!r}): write a number above 0 and below 1, the error of a result of zeros"
        )

    def judge(evidence: Evidence) -> Judgement:
        pairs, failed = paired_leaves(evidence)
        if failed:
            return failed
        worst, reason = 0.0, ""
        for path, got, want in pairs:
            error, why = _relative_rms(path, got, want, evidence)
            if error > rel_rms:
                reason = reason or why or f"{path} has relative RMS error {error:.2e}; {rel_rms:g} is allowed"
            worst = max(worst, error)
        return Judgement(not reason, {"relative_rms": worst, "relative_rms_bound": rel_rms}, reason)

    return Contract("within", judge, f"rel rms ≤ {rel_rms:g}", rel_rms)


def _relative_rms(path: str, got: Any, want: Any, evidence: Evidence) -> tuple[float, str]:
    """(relative RMS error over the judged elements, why it is infinite)."""
    import numpy as np

    judged = judged_mask(evidence, want)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    if why := name_nonfinite(path, got, want, judged, evidence):
        return math.inf, why
    finite = judged & np.isfinite(want)
    largest = float(np.abs(want[finite]).max(initial=0))
    if largest == 0:
        wrong = bool(got[finite].any())
        return (math.inf, f"{path} is 0 in the reference, but not in the result") if wrong else (0.0, "")
    with np.errstate(over="ignore"):  # an error whose square overflows becomes infinite
        error, size = (np.linalg.norm(part / largest) for part in (got[finite] - want[finite], want[finite]))
    return float(error / size), ""


def recall(*, at_least: float) -> Contract:
    """Recall of a selection: at least this share of the reference's items, averaged over rows.

    The result has one part of integers. Its last axis contains the indices selected for a row, in any order;
    negative ones are empty places. An index counts once, and only if the other parts of the same shape, such
    as values, have the reference's entries for it. Choosing another one of several equal scores counts as a
    miss, so the recall is never overstated. UsageError unless the share is above 0 and at most 1.
    """
    if not _is_number(at_least) or not 0 < at_least <= 1:
        raise UsageError(f"recall(at_least={at_least!r}): write a number above 0 and at most 1")

    def judge(evidence: Evidence) -> Judgement:
        import numpy as np

        figures: dict[str, float | None] = {"recall": None, "at_least": at_least}
        pairs, failed = paired_leaves(evidence)
        if failed:
            return failed
        selections = [pair for pair in pairs if pair[2].dtype.kind in "iu" and pair[2].ndim]
        if len(selections) != 1 or any(want.shape != selections[0][2].shape for _, _, want in pairs):
            text = "recall needs one part of integer indices, and all other parts in its shape"
            return Judgement(False, figures, text)
        (_, indices, expected), *_ = selections
        others = [(got, want) for _, got, want in pairs if want is not expected]
        judged = judged_mask(evidence, expected)[..., 0]
        rows = [row for row in np.ndindex(judged.shape) if judged[row]]
        shares = [_row_recall(row, indices, expected, others) for row in rows]
        mean = math.fsum(shares) / len(shares)
        short = f"mean recall {mean:.4f} is below {at_least:g}"
        figures |= {"recall": mean, "worst_row": min(shares)}
        return Judgement(mean >= at_least, figures, "" if mean >= at_least else short)

    return Contract("recall", judge, f"recall ≥ {at_least:g}", at_least)


def _row_recall(
    row: tuple[int, ...], indices: Any, expected: Any, others: Sequence[tuple[Any, Any]]
) -> float:
    """The share of the reference's items in a row that the result has."""
    import numpy as np

    wanted = np.unique(expected[row])
    wanted = wanted[wanted >= 0]
    common, mine, theirs = np.intersect1d(indices[row], expected[row], return_indices=True)
    hit = common >= 0
    for got, want in others:
        hit &= same(got[row][mine].astype(np.float64), want[row][theirs].astype(np.float64))
    return float(hit.sum()) / wanted.size if wanted.size else 1.0


def limit_of(contract: Contract) -> Limit | None:
    """A contract of this module as data; None for any other."""
    if contract.limit is None or contract.name not in CONTRACTS:
        return None
    return Limit(contract.name, contract.limit)


def contract_of(limit: Limit) -> Contract:
    """The contract with this name and number."""
    return CONTRACTS[limit.name](limit.number)


CONTRACTS: Mapping[str, Callable[[float], Contract]] = {
    "within": lambda number: within(rel_rms=number),
    "recall": lambda number: recall(at_least=number),
}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
