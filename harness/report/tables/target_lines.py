"""Lines below the tables of targets: transfers, equal programs."""

from collections.abc import Iterable

from harness.analysis.results import static_of
from harness.analysis.suite_results import SuiteResults
from harness.core.grouped import collected
from harness.core.units import format_bytes, format_count
from harness.report.format import first_few, short_label

MOST = 8  # lines of one kind below a table


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


def program_lines(suite: SuiteResults) -> list[str]:
    """`Same program on tpu:v5p: approx = exact at 4Ki, 16Ki, 64Ki`; targets that agree share a line."""
    lengths = collected(((shared.kind, shared.text, shared.target), shared.seq) for shared in suite.programs)
    agreeing = collected(
        ((kind, f"{text} at {_lengths(at)}"), target) for (kind, text, target), at in lengths.items()
    )
    return [f"Same {kind} on {', '.join(on)}: {sentence}" for (kind, sentence), on in agreeing.items()]


def _lengths(lengths: Iterable[int]) -> str:
    return ", ".join(map(format_count, sorted(set(lengths))))
