"""What targets have to say in a line each: turned verdicts, transfers, heaviest operators, equal programs."""

from collections.abc import Iterable, Sequence

from harness.analysis.results import SuiteRecords, by_case, label_of, static_of, targets
from harness.analysis.same_program import programs
from harness.analysis.scaling import FIGURES
from harness.analysis.target_flips import turnings
from harness.core.static_figures import WORDS, OperatorWeight, Static
from harness.core.units import format_bytes, format_count
from harness.report.tables.cells import short_label
from harness.report.tables.targets import TURNS

MOST = 8  # lines of one kind below a table
FEW = 4  # programs whose heaviest operators are named; of more, --json has them
WORTH = 0.1  # of a program's estimates: a second operator with less is not named


def turning_lines(suite: SuiteRecords) -> list[str]:
    """`⇄ temp of scatter at 16Ki: less than broadcast's on host, more on tpu:v5e`.

    Implementations and lengths of which the same is to be said share a line; temporaries come first.
    """
    lengths: dict[tuple[str, str, str], list[int]] = {}
    for one in sorted(turnings(suite), key=lambda one: FIGURES.index(one.figure)):
        if one.turns:
            base, label = short_label(suite.baseline), short_label(one.implementation)
            said = f"less than {base}'s on {', '.join(one.less)}, more on {', '.join(one.more)}"
            lengths.setdefault((one.figure, said, label), []).append(one.seq)
    labels: dict[tuple[str, str, str], list[str]] = {}
    for (figure, said, label), at in lengths.items():
        labels.setdefault((figure, _lengths(at), said), []).append(label)
    return _few(
        [
            f"{TURNS} {WORDS[figure]} of {', '.join(own)} at {at}: {said}"
            for (figure, at, said), own in labels.items()
        ]
    )


def collective_lines(suite: SuiteRecords) -> list[str]:
    """`Collectives on tpu:v5p:4x4x8: sharded at 128Ki: all-gather ×1, 32.0 MiB`."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for own in by_case(suite.records).values():
        for target in targets(suite):
            figures = static_of(own, target)
            moved = figures.collectives if figures is not None else ()
            text = "; ".join(f"{one.op} ×{one.count}, {format_bytes(one.bytes)}" for one in moved)
            if text:
                found.setdefault((target, short_label(label_of(own[0])), text), []).append(own[0].seq)
    return _few(
        [
            f"Collectives on {target}: {label} at {_lengths(at)}: {text}"
            for (target, label, text), at in found.items()
        ]
    )


def weight_lines(suite: SuiteRecords) -> list[str]:
    """`Expected by tpu:v5p's compiler to weigh most (no time): broadcast at 128Ki: fusion at mask.py:22 …`.

    Of a compiler that estimates operators, the heaviest one or two, and how many have an estimate at all.
    """
    lines: list[str] = []
    for own in by_case(suite.records).values():
        for target in targets(suite):
            figures = static_of(own, target)
            if figures is not None and figures.operator_weights:
                said = f"{short_label(label_of(own[0]))} at {format_count(own[0].seq)}: {_heaviest(figures)}"
                lines.append(f"Expected by {target}'s compiler to weigh most (no time): {said}")
    return lines if len(lines) <= FEW else []


def _heaviest(figures: Static) -> str:
    first, *others = figures.operator_weights
    named = [first, *(one for one in others[:1] if one.share >= WORTH)]
    weighed, among = figures.weighed
    return f"{', '.join(map(_weight, named))} of the estimates; {weighed} of {among} operators have one"


def _weight(one: OperatorWeight) -> str:
    place = f" at {one.source}" if one.source else ""
    loop = " in a loop of unknown length" if one.turns is None else ""
    return f"{one.operator}{place}{loop} {100 * one.share:.3g} %"


def program_lines(suite: SuiteRecords) -> list[str]:
    """`Same program on tpu:v5p: approx = exact at 4Ki, 16Ki, 64Ki`; targets that agree share a line."""
    lengths: dict[tuple[str, str], list[int]] = {}
    for one in programs(suite):
        lengths.setdefault((one.text, one.target), []).append(one.seq)
    agreeing: dict[str, list[str]] = {}
    for (text, target), at in lengths.items():
        agreeing.setdefault(f"{text} at {_lengths(at)}", []).append(target)
    return [f"Same program on {', '.join(on)}: {said}" for said, on in agreeing.items()]


def _lengths(found: Iterable[int]) -> str:
    return ", ".join(map(format_count, sorted(set(found))))


def _few(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MOST
    return [*lines[:MOST], *([f"and {more} more; --json has them"] if more > 0 else [])]
