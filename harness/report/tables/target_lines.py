"""Lines below the tables of targets: verdicts that flip, transfers, heaviest operators, equal programs."""

from collections.abc import Iterable

from harness.analysis.results import static_of
from harness.analysis.scaling import FIGURES
from harness.analysis.suite_results import SuiteResults
from harness.core.grouped import collected
from harness.core.static_figures import WORDS, OperatorWeight, Static
from harness.core.units import format_bytes, format_count
from harness.report.format import first_few, short_label
from harness.report.tables.targets import TURNS

MOST = 8  # lines of one kind below a table
FEW = 4  # programs whose heaviest operators are named; of more, --json has them
WORTH = 0.1  # of a program's estimates: a second operator with less is not named


def flip_lines(suite: SuiteResults) -> list[str]:
    """`⇄ temp of scatter at 16Ki: less than broadcast's on host, more on tpu:v5e`.

    Implementations and lengths with the same sentence share a line; temporaries come first.
    """
    lengths: dict[tuple[str, str, str], list[int]] = {}
    for flip in sorted(suite.flips, key=lambda flip: FIGURES.index(flip.figure)):
        if flip.turns:
            base, label = short_label(suite.baseline), short_label(flip.implementation)
            sentence = f"less than {base}'s on {', '.join(flip.less)}, more on {', '.join(flip.more)}"
            lengths.setdefault((flip.figure, sentence, label), []).append(flip.seq)
    labels = collected(((fig, _lengths(at), said), label) for (fig, said, label), at in lengths.items())
    return first_few(
        [
            f"{TURNS} {WORDS[figure]} of {', '.join(implementations)} at {at}: {sentence}"
            for (figure, at, sentence), implementations in labels.items()
        ],
        MOST,
    )


def collective_lines(suite: SuiteResults) -> list[str]:
    """`Collectives on tpu:v5p:4x4x8: sharded at 128Ki: all-gather ×1, 32.0 MiB`."""
    lengths: dict[tuple[str, str, str], list[int]] = {}
    for records in suite.by_case.values():
        for target in suite.compiled_targets:
            figures = static_of(records, target)
            moved = figures.collectives if figures is not None else ()
            text = "; ".join(f"{call.op} ×{call.count}, {format_bytes(call.bytes)}" for call in moved)
            if text:
                lengths.setdefault((target, short_label(records.label), text), []).append(records[0].seq)
    return first_few(
        [
            f"Collectives on {target}: {label} at {_lengths(at)}: {text}"
            for (target, label, text), at in lengths.items()
        ],
        MOST,
    )


def weight_lines(suite: SuiteResults) -> list[str]:
    """`Expected by tpu:v5p's compiler to weigh most (no time): broadcast at 128Ki: fusion at mask.py:22 …`.

    Of a compiler that estimates operators, the heaviest one or two, and how many have an estimate at all.
    """
    lines: list[str] = []
    for records in suite.by_case.values():
        for target in suite.compiled_targets:
            figures = static_of(records, target)
            if figures is not None and figures.operator_weights:
                case = f"{short_label(records.label)} at {format_count(records[0].seq)}"
                expected = f"Expected by {target}'s compiler to weigh most (no time)"
                lines.append(f"{expected}: {case}: {_heaviest(figures)}")
    return lines if len(lines) <= FEW else []


def _heaviest(figures: Static) -> str:
    first, *others = figures.operator_weights
    named = [first, *(weight for weight in others[:1] if weight.share >= WORTH)]
    weighed, among = figures.weighed
    return f"{', '.join(map(_weight, named))} of the estimates; {weighed} of {among} operators have one"


def _weight(weight: OperatorWeight) -> str:
    place = f" at {weight.source}" if weight.source else ""
    loop = " in a loop of unknown length" if weight.turns is None else ""
    return f"{weight.operator}{place}{loop} {100 * weight.share:.3g} %"


def program_lines(suite: SuiteResults) -> list[str]:
    """`Same program on tpu:v5p: approx = exact at 4Ki, 16Ki, 64Ki`; targets that agree share a line."""
    lengths = collected(((shared.kind, shared.text, shared.target), shared.seq) for shared in suite.programs)
    agreeing = collected(
        ((kind, f"{text} at {_lengths(at)}"), target) for (kind, text, target), at in lengths.items()
    )
    return [f"Same {kind} on {', '.join(on)}: {sentence}" for (kind, sentence), on in agreeing.items()]


def _lengths(lengths: Iterable[int]) -> str:
    return ", ".join(map(format_count, sorted(set(lengths))))
