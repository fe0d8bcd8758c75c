"""Tables of targets: planned memory on each, more figures for one target, and equal programs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from harness.analysis.results import HOST, static_of
from harness.analysis.scaling import FIGURES, Scaling
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.grouped import collected
from harness.core.static_figures import WORDS, Static
from harness.core.units import FLOPS, Metric, format_bytes, format_count
from harness.report import format as fmt
from harness.report.format import ABSENT, first_few, short_label
from harness.report.tables import cells
from harness.report.tables.cells import Cell, name_cell, sentences
from harness.report.tables.suite import NAMES, STATUS, breaks, exponent_cell, heading
from harness.report.tables.table_data import Column, TableData, Write

_FITS = "fits: arguments + outputs + temporaries − aliased bytes fit in the device's memory."

Limits = Mapping[str, int | None]


def targets_table(panel: SuiteResults, limits: Limits) -> TableData:
    """Rows as in a suite's table; per target temporaries, their ratio to the baseline, fit and FLOPs.

    `limits` are bytes by target. A single target is in the title, several are above their columns.
    """
    compiled = panel.compiled_targets
    single = len(compiled) == 1
    rows = panel.cases_on(compiled[0])
    columns = [(column, [write(row) for row in rows]) for column, write in NAMES]
    for place, target in enumerate(compiled):
        limit = limits.get(target)
        group = "" if single else f"{target}\n{_memory(limit)}"
        lines = [_target_cells(row, limit) for row in panel.cases_on(target)]
        columns += [
            (replace(column, group=group), list(own))
            for column, own in zip(_target_columns(place), zip(*lines, strict=True), strict=True)
            if panel.baseline or not column.relative
        ]
    if any(row.record.status != "ok" for row in rows):
        columns.append((STATUS[0], [STATUS[1](row) for row in rows]))
    memory = f" ({_memory(limits[compiled[0]])})" if single and limits.get(compiled[0]) else ""
    where = f"{compiled[0]}{memory}" if single else f"{len(compiled)} targets"
    return TableData(
        title=f"{heading(panel)}, {rows[0].record.mode} compiled for {where}",
        columns=tuple(column for column, _ in columns),
        rows=tuple(zip(*(cells for _, cells in columns), strict=True)),
        breaks=breaks(rows),
        caption=_FITS,
    )


def _memory(limit: int | None) -> str:
    return fmt.short_bytes(limit) if limit else ""


def _target_columns(place: int) -> tuple[Column, ...]:
    """The columns of one target; a later target loses its columns first, and temporaries last."""
    return (
        Column("temp", rank=1 + place),
        Column("temp/base", rank=100 + place, relative=True),
        Column("fits", rank=200 + place, right=False),
        Column("FLOPs", rank=300 + place),
    )


def _target_cells(row: CaseResult, limit: int | None) -> tuple[Cell, Cell, Cell, Cell]:
    """The cells of a case. Notes of temporaries or status say why there are no figures.

    Temporaries also have the note on a plan that does not fit, because a narrow terminal drops that column.
    """
    static, failed = row.static, row.record.status != "ok"
    if static is None or (failed and static.planned_bytes is None and static.fits is None):
        why = sentences(None if failed else "not compiled")
        return Cell(ABSENT, why), Cell(ABSENT), Cell(ABSENT), Cell(ABSENT)
    temp, ratio = cells.temp(row), cells.temp_ratio(row)
    if static.temp_bytes is None:
        ratio = Cell(ABSENT if row.compared else "")
    fits = Cell(ABSENT) if static.fits is None else Cell("yes", style="green")
    if static.fits is False:
        overflow = _overflow(static, limit)
        memory = f", {static.overflow.memory}" if static.overflow else ""
        temp = temp._replace(notes=(overflow, *static.warnings))
        fits = Cell(f"no{memory}", (overflow,), "yellow")
    return temp, ratio, fits, cells.flops(row)


def _overflow(static: Static, limit: int | None) -> str:
    """What a case that does not fit would need, or the compiler's own words.

    A core's own memory is not the target's, which then may be large enough.
    """
    if static.overflow:
        return static.unavailable["temp_bytes"]
    planned = static.planned_bytes
    why = static.unavailable["temp_bytes"] if planned is None else f"plans {format_bytes(planned)}"
    return f"does not fit {_memory(limit) or 'the memory'}: {why}"


def growth_table(panel: SuiteResults) -> TableData:
    """The table of exponents of the length: a row per implementation and figure, a column per target.

    No rows if the panel has only one length, or no target has two figures to fit; the table of cases has the
    reasons. Only a single target has room for intervals.
    """
    compiled = panel.compiled_targets
    fitted = {(scaling.implementation, scaling.metric, scaling.target): scaling for scaling in panel.scalings}
    single = len(compiled) == 1
    write = exponent_cell if single else _exponent
    lines: list[tuple[Cell, ...]] = []
    labels = [label for label in panel.implementations if (label, "time", "host") in fitted]
    for label in labels if len({record.seq for record in panel.records}) > 1 else []:
        name = name_cell(label, panel.bounds)
        for figure in FIGURES:
            found = [fitted[label, figure, target] for target in compiled]
            if any(scaling.exponent is not None for scaling in found):
                lines.append((name, Cell(WORDS[figure]), *map(write, found)))
                name = Cell("")
    return TableData(
        title="",
        columns=(
            Column("", right=False, folds=True),
            Column("∝ seq^", right=False),
            *(Column(target, rank=rank, right=not single) for rank, target in enumerate(compiled)),
        ),
        rows=tuple(lines),
        caption="" if single else "--json has the intervals of exponents, and notes on curves that bend.",
    )


def _exponent(scaling: Scaling) -> Cell:
    """The exponent without its interval, for tables of several targets."""
    known = scaling.exponent is not None
    return Cell(f"{scaling.exponent:.2f}") if known else Cell(ABSENT, sentences(scaling.reason))


_BYTES = Metric("bytes", format_bytes)


def _bytes(name: str) -> Write:
    return partial(cells.figure, name=name, metric=_BYTES)


def _calls(row: CaseResult) -> Cell:
    return Cell(", ".join(row.static.custom_calls) if row.static else "")


def _analytic(row: CaseResult, name: str, metric: Metric) -> Cell:
    return Cell(fmt.exact_figure(getattr(row.record.cost, name), metric))


_COLUMNS: tuple[tuple[Column, Write], ...] = (
    *NAMES,
    (Column("planned", rank=1), _bytes("planned_bytes")),
    (Column("arguments", rank=5), _bytes("argument_bytes")),
    (Column("outputs", rank=6), _bytes("output_bytes")),
    (Column("peak", rank=4), _bytes("peak_bytes")),
    (Column("bytes accessed", rank=2), _bytes("bytes_accessed")),
    (Column("FLOPs by formula", rank=7), partial(_analytic, name="flops", metric=FLOPS)),
    (Column("bytes by formula", rank=8), partial(_analytic, name="bytes", metric=_BYTES)),
    (Column("custom calls", rank=13, right=False, folds=True), _calls),
    (Column("operations", rank=14, right=False, folds=True), cells.operations),
)


def detail_table(panel: SuiteResults, target: str = HOST, requested: Sequence[str] = ()) -> TableData:
    """Rows as in a suite's table. `by formula` is the family's count, not the compiler's.

    Columns `requested` by name have priority on a narrow terminal.
    """
    rows = panel.cases_on(target)
    return TableData(
        title=f"{heading(panel)}: more figures for {target}",
        columns=tuple(replace(c, rank=min(c.rank, 1)) if c.title in requested else c for c, _ in _COLUMNS),
        rows=tuple(tuple(write(row) for _, write in _COLUMNS) for row in rows),
        breaks=breaks(rows),
    )


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
    """`Same program on tpu:v5p: approx = exact at 4Ki, 16Ki, 64Ki`; equal targets share a line."""
    lengths = collected(((shared.kind, shared.text, shared.target), shared.seq) for shared in suite.programs)
    agreeing = collected(
        ((kind, f"{text} at {_lengths(at)}"), target) for (kind, text, target), at in lengths.items()
    )
    return [f"Same {kind} on {', '.join(on)}: {sentence}" for (kind, sentence), on in agreeing.items()]


def _lengths(lengths: Iterable[int]) -> str:
    return ", ".join(map(format_count, sorted(set(lengths))))
