"""Contracts: the definition of "equal to the reference" for a semantics.

A contract is exact, or its bound is derived from theory where it is used. It is never a tolerance chosen so
that an implementation passes.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.catalog.arrays import walk
from harness.core.declared import Declared

SLAB = 1 << 16  # elements compared at a time, which fit into a cache


@dataclass(frozen=True)
class Evidence:
    """The results that a contract judges. Arrays are numpy arrays on the host.

    `result` and `expected` are trees of the same structure (an array, or a tuple or dict of arrays). If
    `rows` is given, both contain only those rows of axis 1. `ambiguous`, if the semantics defines it, is a
    boolean array over the leading axes of `expected`. It is true where rounding errors may decide the result
    (a near-tied selection); nothing is judged there. `layout` names the axes of the result, for example
    `[B, T, H, D]`; empty if it is not declared.
    """

    workload: Any
    inputs: Mapping[str, Any]
    result: Any
    expected: Any
    rows: Any = None
    ambiguous: Any = None
    layout: str = ""


@dataclass(frozen=True)
class Judgement(Declared):
    """A verdict. If it failed, `reason` describes the difference in one sentence."""

    passed: bool
    figures: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


def require_judgement(verdict: object) -> Judgement:
    """The result of a contract or check. TypeError for anything else, for example a bare True."""
    if not isinstance(verdict, Judgement):
        raise TypeError(f"it returns {type(verdict).__name__}; return Judgement(passed, figures, reason)")
    return verdict


@dataclass(frozen=True)
class Contract(Declared):
    """A named judge of results. `name` is recorded: `exact`, `tolerance`, `recall` or a family's own.

    `bound` describes what it allows, if the name does not: `rel rms ≤ 0.02`. `limit` is the number of a
    contract of :mod:`harness.catalog.bounds`, from which any process can rebuild it. `by_dtype`: it reads the
    workload's dtype.
    """

    name: str
    judge: Callable[[Evidence], Judgement]
    bound: str = ""
    limit: float | None = None
    by_dtype: bool = False


def leaves(tree: Any) -> Iterator[tuple[str, Any]]:
    """(path, array) of every leaf of a tree of tuples, lists and dicts: `gradients.q`, `[1]`."""
    for path, leaf in walk(tree):
        name = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in path)
        yield name.removeprefix(".") or "result", leaf


KINDS = {"b": "boolean", "i": "integer", "u": "integer", "c": "complex"}


def array_kind(array: Any) -> str:
    """The kind of a dtype that a contract compares: `floating`, `integer`, `boolean` or `complex`."""
    return KINDS.get(array.dtype.kind, "floating")  # ml_dtypes' bfloat16 has kind "V"


def paired_leaves(evidence: Evidence) -> tuple[list[tuple[str, Any, Any]], Judgement | None]:
    """Pair the leaves of result and reference, or return a failed judgement if they do not match."""
    import numpy as np

    def refuse(text: str) -> tuple[list[tuple[str, Any, Any]], Judgement]:
        return [], Judgement(False, {"mismatches": None}, text)

    got, want = dict(leaves(evidence.result)), dict(leaves(evidence.expected))
    if got.keys() != want.keys():
        return refuse(f"the result has parts {', '.join(got)}; the reference has {', '.join(want)}")
    pairs = []
    for path, reference in want.items():
        left, right = np.asarray(got[path]), np.asarray(reference)
        if left.shape != right.shape:
            laid_out = f", with axes {evidence.layout}" if evidence.layout else ""
            return refuse(f"{path} has shape {left.shape}; the reference has {right.shape}{laid_out}")
        if array_kind(left) != array_kind(right):
            return refuse(f"{path} has dtype {left.dtype}; the reference is {array_kind(right)}")
        pairs.append((path, left, right))
    if pairs and not any(want.size == 0 or judged_mask(evidence, want).any() for _, _, want in pairs):
        return refuse("rounding errors may decide every row, so nothing can be judged; use another seed")
    return pairs, None


def judged_mask(evidence: Evidence, want: Any) -> Any:
    """A mask in the shape of `want`: true where an element is judged."""
    import numpy as np

    marks = evidence.ambiguous
    if marks is None or want.shape[: marks.ndim] != marks.shape:
        return np.broadcast_to(True, want.shape)
    return np.broadcast_to(~marks.reshape(marks.shape + (1,) * (want.ndim - marks.ndim)), want.shape)


def _ambiguous(evidence: Evidence) -> dict[str, float | int | str | None]:
    return {} if evidence.ambiguous is None else {"ambiguous": int(evidence.ambiguous.sum())}


def first_place(where: Any, evidence: Evidence) -> tuple[tuple[int, ...], list[int]]:
    """(index of the first true element, its index in the whole result)."""
    import numpy as np

    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(where)), where.shape))
    place = list(index)
    if evidence.rows is not None and len(place) > 1:
        place[1] = int(evidence.rows[place[1]])
    return index, place


def _state_first(path: str, where: Any, got: Any, want: Any, evidence: Evidence, verb: str = " is") -> str:
    """`result[1, 2] is 0.5; the reference has 0.0`, for the first true element."""
    index, place = first_place(where, evidence)
    return f"{path}{place}{verb} {got[index]}; the reference has {want[index]}"


def name_nonfinite(path: str, got: Any, want: Any, judged: Any, evidence: Evidence) -> str:
    """Describe the first infinity or NaN that only one side has, and their number; empty without any."""
    import numpy as np

    mismatch = judged & ~(np.isfinite(got) & np.isfinite(want)) & ~same(got, want)
    if not mismatch.any():
        return ""
    first = _state_first(path, mismatch, got, want, evidence)
    return f"{first}; {int(mismatch.sum())} of {want.size} elements differ like this"


def _name_first(path: str, wrong: Any, got: Any, want: Any, evidence: Evidence) -> str:
    """`3 of 12 elements exceed it, first result[1, 2], which is 0.5; the reference has 0.0`."""
    first = _state_first(path, wrong, got, want, evidence, ", which is")
    return f"{int(wrong.sum())} of {wrong.size} elements exceed it, first {first}"


def exact(normalise: Callable[[Any], Any] | None = None) -> Contract:
    """Every element equals the reference's, after `normalise` has mapped equivalent forms to one."""

    def judge(evidence: Evidence) -> Judgement:
        import numpy as np

        if normalise is not None:
            result, expected = normalise(evidence.result), normalise(evidence.expected)
            evidence = replace(evidence, result=result, expected=expected)
        pairs, failed = paired_leaves(evidence)
        if failed:
            return failed
        total, first = 0, ""
        for path, got, want in pairs:
            different = ~same(got, want) & judged_mask(evidence, want)
            count = int(np.count_nonzero(different))
            if count and not first:
                first = _state_first(path, different, got, want, evidence)
            total += count
        reason = f"{total} elements differ; {first}" if total else ""
        return Judgement(total == 0, {"mismatches": total, **_ambiguous(evidence)}, reason)

    return Contract("exact", judge)


def same(got: Any, want: Any) -> Any:
    """True where both are equal, or both are NaN."""
    import numpy as np

    return (got == want) | (np.not_equal(got, got) & np.not_equal(want, want))


def tolerance(relative_rms: Mapping[str, float], *, cancelling: bool = False) -> Contract:
    """Relative RMS error within the bound for the workload's dtype, and a bound on each element.

    `relative_rms` maps dtypes to bounds that the family derives and documents. A single error may be up to
    the bound times √(2 ln 2N) times the RMS of its row (the last axis of the reference): about the expected
    maximum of N Gaussian errors of the allowed size. A row that is exactly zero in the reference must be
    exactly zero, and infinities and NaN must match. `cancelling` is for gradients, whose rows may cancel
    (softmax over a single key has a zero gradient) while the errors of their terms do not: then every row is
    judged against the RMS of the largest one.
    """

    def judge(evidence: Evidence) -> Judgement:
        import numpy as np

        bound = relative_rms.get(dtype := evidence.workload.dtype)
        if bound is None:
            raise ValueError(f"tolerance(…) has no bound for {dtype}; add one, or refuse this dtype")
        pairs, failed = paired_leaves(evidence)
        if failed:
            return failed
        worst_rms, worst_share, reason = 0.0, 0.0, ""
        for path, got, want in pairs:
            with np.errstate(over="ignore"):  # an error whose square overflows becomes infinite
                rms, share, why = _deviation(path, got, want, evidence, bound, cancelling=cancelling)
            worst_rms, worst_share = max(worst_rms, rms), max(worst_share, share)
            reason = reason or why
        figures: dict[str, float | int | str | None] = {
            "relative_rms_bound": bound,
            "relative_rms": worst_rms,
            "largest_error_of_allowed": worst_share,
            **_ambiguous(evidence),
        }
        return Judgement(not reason, figures, reason)

    bounds = ", ".join(f"{bound:.2g} in {dtype}" for dtype, bound in relative_rms.items())
    return Contract("tolerance", judge, f"rel rms ≤ {bounds}", by_dtype=True)


def _deviation(
    path: str, got: Any, want: Any, evidence: Evidence, bound: float, *, cancelling: bool
) -> tuple[float, float, str]:
    """(relative RMS error, largest error as a share of the allowed one, reason if either is too large)."""
    import numpy as np

    if want.size == 0:
        return 0.0, 0.0, ""
    judged = judged_mask(evidence, want)
    count, error_square, size_square = 0, 0.0, 0.0
    rows: list[Any] = []  # by row: RMS of the reference, largest error
    for mine, theirs, counts in _slabs(got, want, judged):
        if name_nonfinite(path, mine, theirs, counts, evidence):
            got, want = got.astype(_wide(want)), want.astype(_wide(want))
            return math.inf, math.inf, name_nonfinite(path, got, want, judged, evidence)
        finite = np.isfinite(theirs)
        judged_here = counts & finite
        error = np.abs(np.subtract(mine, theirs, out=np.zeros_like(theirs), where=judged_here))
        square = np.square(np.abs(np.where(finite, theirs, 0)))
        count += int(np.count_nonzero(judged_here))
        error_square += float(np.sum(np.square(error)))
        size_square += float(np.sum(square, where=judged_here))
        rows.append((np.sqrt(np.mean(square, axis=-1)), error.max(axis=-1)))
    if count == 0:
        return 0.0, 0.0, ""
    row, largest = (np.concatenate(part) for part in zip(*rows, strict=True))
    if cancelling:
        row = np.full_like(row, row.max())
    allowed = bound * math.sqrt(2 * math.log(2 * count)) * row
    over = np.divide(largest, allowed, out=np.where(largest > 0, np.inf, 0.0), where=allowed > 0)
    share = float(over.max())
    scale, absolute = math.sqrt(size_square / count), math.sqrt(error_square / count)
    rms = absolute / scale if scale else absolute
    if rms <= bound and share <= 1:
        return rms, share, ""
    return rms, share, _name_deviation(path, got, want, evidence, bound, rms, row, allowed)


def _slabs(got: Any, want: Any, judged: Any) -> Iterator[tuple[Any, Any, Any]]:
    """(got, want, judged) in slabs of rows, as f64; intermediate results of a slab fit into the cache."""
    length = want.shape[-1] if want.ndim else 1
    parts = [array.reshape(-1, length) for array in (got, want, judged)]
    step = max(1, SLAB // length)
    for begin in range(0, len(parts[0]), step):
        mine, theirs, counts = (part[begin : begin + step] for part in parts)
        yield mine.astype(_wide(want)), theirs.astype(_wide(want)), counts


def _wide(array: Any) -> str:
    return "complex128" if array.dtype.kind == "c" else "float64"


def _name_deviation(
    path: str, got: Any, want: Any, evidence: Evidence, bound: float, rms: float, row: Any, allowed: Any
) -> str:
    """The reason, with the first wrong element. `row`: RMS of the reference by row; `allowed`: errors."""
    import numpy as np

    got, want = got.astype(_wide(want)), want.astype(_wide(want))
    judged = judged_mask(evidence, want) & np.isfinite(want)
    error = np.abs(np.subtract(got, want, out=np.zeros_like(want), where=judged))
    row, allowed = (part.reshape((*want.shape[:-1], 1) if want.ndim else ()) for part in (row, allowed))
    allowed = np.broadcast_to(allowed, error.shape)
    over = np.divide(error, allowed, out=np.where(error > 0, np.inf, 0.0), where=allowed > 0)
    if rms > bound:
        beyond = error > bound * row
        if not beyond.any():  # with `cancelling`, many small errors may exceed the bound together
            beyond = over == over.max()
        first = _name_first(path, beyond, got, want, evidence)
        return f"{path} has relative RMS error {rms:.2e}; {bound:.0e} is allowed; {first}"
    _, place = first_place(over == over.max(), evidence)
    text = f"{path}{place} has {over.max():.3g} times the largest error that rounding explains"
    return f"{text}; {_name_first(path, over > 1, got, want, evidence)}"
