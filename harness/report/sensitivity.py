"""The sentences of a sensitivity: what beats what on which data, by how much, and how that varies."""

from collections.abc import Sequence

from harness.analysis.sensitivity import EXCLUDED, FOUND, UNDECIDED, UNKNOWN, DrawnCase, Largest, Sensitivity
from harness.core.grouped import grouped
from harness.core.units import format_count
from harness.report import format as fmt

WORDS = {1: "faster", -1: "slower", 0: "not told apart"}
RULE = (
    "Factors in sentences hold together at 95 %, and speedups there among themselves: divided by how many "
    "are told, and a factor's lower bound by ordered pairs of distributions, a speedup's by distributions "
    "and lengths. Those of the table hold one by one. All sides of a factor share their rounds, so that what "
    "else the machine did in a round divides out."
)


def headline(members: Sequence[Sensitivity], factor: float) -> str:
    """`a factor of 1.5 between distributions is found for partition; undecided for …`."""
    by_verdict = grouped(members, lambda member: member.largest.verdict(factor))
    named = [
        f"{verdict} for {', '.join(fmt.short_label(m.implementation) for m in by_verdict[verdict])}"
        for verdict in (FOUND, EXCLUDED, UNDECIDED, UNKNOWN)
        if verdict in by_verdict
    ]
    return f"a factor of {factor:g} between distributions is {'; '.join(named)}"


def sentence(member: Sensitivity, factor: float) -> str:
    """The sentence on an implementation: its speedup by distribution, how that varies, and what failed."""
    name = fmt.short_label(member.implementation)
    if all(case.time.value is None for case in member.cases):
        parts = [f"{name} has no time on any distribution"]
    elif member.implementation == member.baseline:
        parts = [f"{name}, the baseline", _varies("its own time", member.largest, factor)]
    else:
        parts = [_claim(member, name, factor), _varies("the speedup", member.largest, factor)]
    failed = (case for case in member.cases if case.record.status != "ok")
    ends = grouped(failed, lambda case: (case.record.status, case.record.reason))
    for (status, reason), cases in ends.items():
        lengths = ", ".join(format_count(seq) for seq in dict.fromkeys(case.seq for case in cases))
        where = f"{fmt.status_words(status)} at {lengths} on {_names(cases)}"
        parts.append(f"{where}: {reason}")
    return "; ".join(parts)


def _claim(member: Sensitivity, name: str, factor: float) -> str:
    """The speedup at one length: where a factor between distributions is found, else the longest.

    `scatter is 2.40× to 5.10× faster than broadcast at 64Ki; worst: tied, …`, or where distributions differ
    in that `scatter against broadcast at 64Ki: faster on clustered only, slower on tied, iid; worst: …`.
    """
    base = fmt.short_label(member.baseline)
    lengths = grouped((c for c in member.cases if c.value.value is not None), lambda case: case.seq)
    comparable = [seq for seq, cases in lengths.items() if len(cases) > 1]
    if not comparable:
        return f"{name} has no time beside that of {base} on two distributions"
    seq = member.largest.seq if member.largest.verdict(factor) == FOUND else max(comparable)
    cases = sorted(lengths[seq], key=_value)
    compared = [case.compared for case in cases if case.compared is not None]
    other = " (not mathematically equivalent)" if any(c.other_semantics for c in compared) else ""
    at = f"{base} at {format_count(seq)}{other}"
    if any(c.same_program for c in compared):
        return f"{name} runs the program of {at}: a difference in time is noise"
    by_side = grouped(cases, lambda case: case.side)
    if len(by_side) == 1 and 0 not in by_side:
        (side,) = by_side
        low, high = sorted(_value(case) ** side for case in (cases[0], cases[-1]))
        claim = f"{name} is {fmt.significant(low, 3)}× to {fmt.significant(high, 3)}× {WORDS[side]} than {at}"
    else:
        only = " only" if len(by_side.get(1, ())) == 1 else ""
        sides = [f"{WORDS[side]} on {_names(by_side[side])}" for side in (1, -1, 0) if side in by_side]
        claim = f"{name} against {at}: {', '.join([sides[0] + only, *sides[1:]])}"
    return f"{claim}; worst: {_with_interval(cases[0])}, best: {_with_interval(cases[-1])}"


def _names(cases: Sequence[DrawnCase]) -> str:
    return ", ".join(dict.fromkeys(case.distribution for case in cases))


def _value(case: DrawnCase) -> float:
    return case.value.value or 1.0


def _with_interval(case: DrawnCase) -> str:
    return f"{case.distribution}, {fmt.speedup(_value(case), case.value.low, case.value.high)}"


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
