"""Targets side by side: what a compiler plans on each, whether it fits, where the verdict turns round."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.analysis.scaling import FIGURES, Scaling
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.metric import TEMP_BYTES
from harness.core.record import state_bound
from harness.core.static_figures import WORDS
from harness.core.units import format_bytes, format_count
from harness.report import format as fmt
from harness.report.format import ABSENT
from harness.report.tables import cells
from harness.report.tables.cells import Cell, sentences
from harness.report.tables.suite import breaks, heading
from harness.report.tables.suite_columns import NAMES, STATUS
from harness.report.tables.summary import exponent_cell
from harness.report.tables.table_data import Column, TableData

TURNS = "⇄"
_LEGEND = f"{TURNS} targets disagree: less than the baseline's on one, more on another."
_FITS = "fits: arguments + outputs + temporaries, less what they share, are within a device's memory."
_WITH_RATIOS = 4  # targets; beside more of them there is no room for ratios

Limits = Mapping[str, int | None]


@dataclass(frozen=True)
class _Side:
    """One target of a panel: its rows, and the cases (id, figure) whose verdict turns on it or another.

    `overflow` is the footnote on an implementation's cases that do not fit; `marked` is the column that
    shows where the verdict on temporaries turns.
    """

    target: str
    rows: Sequence[CaseResult]
    turned: frozenset[tuple[str, str]]
    overflow: Mapping[str, str]
    marked: str


def targets_table(panel: SuiteResults, limits: Limits) -> TableData:
    """Rows as in a suite's table; per target temporaries, their ratio to the baseline, fit and FLOPs.

    `limits` are bytes by target. One target alone stands in the title, several above their columns.
    """
    compiled = panel.compiled_targets
    turned = frozenset((flip.case, flip.figure) for flip in panel.flips if flip.turns)
    marked = "temp/base" if len(compiled) <= _WITH_RATIOS else "temp"
    sides: list[_Side] = []
    for target in compiled:
        rows = panel.cases_on(target)
        sides.append(_Side(target, rows, turned, _overflows(rows, limits.get(target)), marked))
    rows = sides[0].rows
    last = (STATUS,) if any(row.record.status != "ok" for row in rows) else ()
    columns = [column for column, _ in NAMES]
    for place, target in enumerate(compiled):
        group = _group(target, limits) if len(sides) > 1 else ""
        columns += _columns(place, group, marked=marked if turned else "", relative=bool(panel.baseline))
    lines: list[tuple[Cell, ...]] = []
    for place, row in enumerate(rows):
        line = [write(row) for _, write in NAMES]
        for side in sides:
            line.extend(_target_cells(side.rows[place], side, relative=bool(panel.baseline)))
        lines.append((*line, *(write(row) for _, write in last)))
    return TableData(
        title=f"{heading(panel)}, {rows[0].record.mode} compiled for {_where(compiled, limits)}",
        columns=(*columns, *(column for column, _ in last)),
        rows=tuple(lines),
        breaks=breaks(rows),
        caption=_FITS,
    )


def _where(compiled: Sequence[str], limits: Limits) -> str:
    if len(compiled) > 1:
        return f"{len(compiled)} targets"
    limit = limits.get(compiled[0])
    return f"{compiled[0]} ({_memory(limit)})" if limit else compiled[0]


def _group(target: str, limits: Limits) -> str:
    limit = limits.get(target)
    return f"{target}\n{_memory(limit) if limit else ''}"


def _memory(limit: int) -> str:
    return fmt.trim_zeros(format_bytes(limit))


def _columns(place: int, group: str, *, marked: str, relative: bool) -> list[Column]:
    """The later a target, the sooner it loses a column; temporaries stay longest."""
    columns = [
        Column("temp", rank=1 + place, group=group),
        Column("temp/base", rank=100 + place, group=group, relative=True),
        Column("fits", rank=200 + place, group=group, right=False),
        Column("FLOPs", rank=300 + place, group=group),
    ]
    shown = [column for column in columns if relative or not column.relative]
    captions = {marked: _LEGEND, "FLOPs": _LEGEND} if marked else {}
    return [replace(column, caption=captions.get(column.title, "")) for column in shown]


def _target_cells(row: CaseResult, side: _Side, *, relative: bool) -> list[Cell]:
    """The cells in the columns' order. Why there is no figure at all is noted at temporaries or status."""
    failed = row.record.status != "ok"
    if row.static is None or (failed and row.static.planned_bytes is None and row.static.fits is None):
        why = None if failed else "not compiled"
        return [Cell(ABSENT, sentences(why)), *[Cell(ABSENT)] * (2 + relative)]
    known = row.static.temp_bytes is not None
    cells_by_title = {
        "temp": _temp_cell(row, side),
        "temp/base": cells.temp_ratio(row) if known else Cell(ABSENT if row.compared else ""),
        "fits": _fits_cell(row, side),
        "FLOPs": _mark_flip(cells.flops(row), row, side, "flops"),
    }
    cells_by_title[side.marked] = _mark_flip(cells_by_title[side.marked], row, side, "temp_bytes")
    return [cell for title, cell in cells_by_title.items() if relative or title != "temp/base"]


def _temp_cell(row: CaseResult, side: _Side) -> Cell:
    """The temporaries; also noted here if they do not fit, as a narrow terminal drops the column for that."""
    if row.static is None or row.static.fits is not False:
        return cells.temp(row)
    notes = (side.overflow[row.label], *row.static.warnings)
    return Cell(fmt.exact_figure(row.static.temp_bytes, TEMP_BYTES), notes)


def _mark_flip(cell: Cell, row: CaseResult, side: _Side, figure: str) -> Cell:
    turns = (row.record.case, figure) in side.turned and cell.text != ABSENT
    return cell._replace(text=f"{TURNS} {cell.text}") if turns else cell


def _fits_cell(row: CaseResult, side: _Side) -> Cell:
    if row.static is None or row.static.fits is None:
        return Cell(ABSENT)
    if row.static.fits:
        return Cell("yes", style="green")
    return Cell("no", (side.overflow[row.label],), "yellow")


def _overflows(rows: Iterable[CaseResult], limit: int | None) -> dict[str, str]:
    """Implementation → what its cases that do not fit would need, or the compiler's own words."""
    planned: dict[str, list[str]] = {}
    refused: dict[str, list[str]] = {}
    for row in rows:
        if row.static is None or row.static.fits is not False:
            continue
        label, at, needed = row.label, format_count(row.seq), row.static.planned_bytes
        if needed is not None:
            planned.setdefault(label, []).append(f"{format_bytes(needed)} at {at}")
        else:
            refused.setdefault(label, []).append(f"at {at}: {row.static.unavailable['temp_bytes']}")
    memory = f"does not fit {_memory(limit) if limit else 'the memory'}"
    return {
        label: "; ".join(
            [
                f"{memory}: plans {', '.join(planned[label])}" if label in planned else memory,
                *refused.get(label, ()),
            ]
        )
        for label in {**planned, **refused}
    }


def growth_table(panel: SuiteResults) -> TableData:
    """Per implementation and figure its exponent of the length, a column for each target.

    Without rows where the panel has one length only, or no target two figures to fit: why they are missing
    stands with the cases. Several targets leave no room for intervals.
    """
    compiled = panel.compiled_targets
    fitted = {(scaling.implementation, scaling.metric, scaling.target): scaling for scaling in panel.scalings}
    alone = len(compiled) == 1
    lines: list[tuple[Cell, ...]] = []
    labels = [label for label in panel.implementations if (label, "time", "host") in fitted]
    for label in labels if len({record.seq for record in panel.records}) > 1 else []:
        name = fmt.short_label(label)
        for figure in FIGURES:
            row_scalings = [fitted[label, figure, target] for target in compiled]
            if any(scaling.exponent is not None for scaling in row_scalings):
                exponents = [
                    exponent_cell(scaling) if alone else _exponent(scaling) for scaling in row_scalings
                ]
                bound = state_bound(panel.bounds.get(label, "") if name else "")
                lines.append((Cell(name, tuple(bound)), Cell(WORDS[figure]), *exponents))
                name = ""
    ranks = {target: place for place, target in enumerate(compiled)}
    return TableData(
        title="",
        columns=(
            Column("", right=False, folds=True),
            Column("∝ seq^", right=False),
            *(Column(target, rank=ranks[target], right=not alone) for target in compiled),
        ),
        rows=tuple(lines),
        caption="" if alone or not lines else "Intervals of exponents, and where a curve bends: --json.",
    )


def _exponent(scaling: Scaling) -> Cell:
    """The exponent alone: beside others there is no room for its interval."""
    if scaling.exponent is None:
        return Cell(ABSENT, sentences(scaling.reason))
    partial = [note for note in scaling.notes if note.startswith("body only")]
    bends = "bends: no single power of the length" if len(scaling.notes) > len(partial) else None
    return Cell(f"{scaling.exponent:.2f}", sentences(*partial, bends))
