"""What a sensitivity says in a sentence: what beats what on which data, by how much, and how that varies."""

from collections.abc import Sequence

from harness.analysis.sensitivity import FOUND, DrawnCase, Largest, Sensitivity
from harness.core.grouped import grouped
from harness.core.units import format_count
from harness.report import format as fmt

WORDS = {1: "faster", -1: "slower", 0: "not told apart"}
RULE = (
    "Intervals in sentences hold together at 95 %: divided by the factors told, and by the distributions for "
    "what is found in one of them. Those of the table hold one by one. Speedups are of the same rounds; the "
    "times of two distributions are not, and the machine's drift between them is in no interval."
)


def sentence(found: Sensitivity, factor: float) -> str:
    """By how much it is faster or slower on which data, whether that varies by a factor, and what failed."""
    name = fmt.short_label(found.implementation)
    if found.speedup is None:
        parts = [f"{name}, the baseline: {_varies('its own time', found.time, factor)}"]
    else:
        parts = [_claim(found, name), _varies("the speedup", found.speedup, factor)]
    return "; ".join([*parts, *_failures(found.cases)])


def _claim(found: Sensitivity, name: str) -> str:
    """By how much at one length: where a factor is found, else the longest.

    `scatter is 2.40× to 5.10× faster than broadcast at 64Ki; worst: tied, …`, or where distributions differ
    in that `scatter against broadcast at 64Ki: faster on clustered only (…), slower on tied, iid (…)`.
    """
    base = fmt.short_label(found.baseline)
    lengths = grouped((c for c in found.cases if c.joint.value is not None), lambda case: case.seq)
    comparable = [seq for seq, cases in lengths.items() if len(cases) > 1]
    if found.speedup is None or not comparable:
        return f"{name} has no time beside that of {base} on two distributions"
    seq = found.speedup.seq if found.speedup.verdict() == FOUND else max(comparable)
    cases = sorted(lengths[seq], key=lambda case: case.joint.value or 0.0)
    other = " (not mathematically equivalent)" if found.other_semantics else ""
    at = f"{base} at {format_count(seq)}{other}"
    if any(case.compared is not None and case.compared.same_program for case in cases):
        return f"{name} runs the program of {at}: a difference in time is noise"
    by_side = grouped(cases, lambda case: case.side)
    worst, best = _with_interval(cases[0]), _with_interval(cases[-1])
    if set(by_side) == {0} or len(by_side) > 1:
        told = [_on(by_side[side], side) for side in (1, -1, 0) if side in by_side]
        return f"{name} against {at}: {', '.join(told)}; worst: {worst}, best: {best}"
    (side,) = by_side
    values = sorted((case.joint.value or 1.0) ** side for case in cases)
    ends = f"{fmt.significant(values[0], 3)}× to {fmt.significant(values[-1], 3)}×"
    return f"{name} is {ends} {WORDS[side]} than {at}; worst: {worst}, best: {best}"


def _on(cases: Sequence[DrawnCase], side: int) -> str:
    """`faster on clustered only`, `slower on tied, iid`."""
    only = " only" if side > 0 and len(cases) == 1 else ""
    return f"{WORDS[side]} on {', '.join(case.distribution for case in cases)}{only}"


def _with_interval(case: DrawnCase) -> str:
    return f"{case.distribution}, {fmt.speedup(case.joint.value or 1.0, case.joint.low, case.joint.high)}"


def _varies(what: str, largest: Largest, factor: float) -> str:
    """`a factor of 1.5 between distributions in the speedup is excluded: largest 1.12× [1.03, 1.31], …`."""
    if largest.value is None:
        return f"how {what} varies between distributions is not known: {largest.reason}"
    low, high = (f"{bound:.2f}" if bound else "?" for bound in (largest.low, largest.high))
    why = f" ({largest.reason})" if largest.low is None or largest.high is None else ""
    return (
        f"a factor of {factor:g} between distributions in {what} is {largest.verdict(factor)}: largest "
        f"{largest.value:.2f}× [{low}, {high}]{why}, {largest.most} over {largest.least} at "
        f"{format_count(largest.seq)}"
    )


def _failures(cases: Sequence[DrawnCase]) -> list[str]:
    """`incorrect on periodic: mean recall 0.49 …`: of each status the distributions, and one reason."""
    failed = [case for case in cases if case.record.status != "ok"]
    by_status = grouped(failed, lambda case: case.record.status)
    return [
        f"{fmt.status_words(status)} on {', '.join(dict.fromkeys(case.distribution for case in cases))}: "
        f"{cases[0].record.reason}"
        for status, cases in by_status.items()
    ]
