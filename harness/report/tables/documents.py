"""Real document lengths: what they cost against one long document, and how they divide over ranks."""

from harness.analysis.document_loss import DocumentLoss
from harness.analysis.document_rows import RANKS, DocumentRows, document_rows
from harness.analysis.stats import Estimate
from harness.analysis.suite_results import SuiteResults
from harness.core.grouped import grouped
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.format import ABSENT
from harness.report.tables.cells import NO_INTERVAL, Cell, name_cell
from harness.report.tables.table_data import Column, TableData

APART = (
    "/ single: over one document as long as the row, in the same run but in other rounds; intervals are as "
    "wide as the 95 % intervals of both times allow. rate: FLOPs, by the family's formula, over time."
)
CAUSAL = (
    "R ranks: causal work (keys of a token's own document up to it) of the busiest rank over the mean, "
    "counted and not measured; contiguous: equal parts of a row; zigzag: parts r and 2 R − 1 − r of 2 R."
)


def loss_lines(suite: SuiteResults) -> list[str]:
    """`lengths=pretrain at 16Ki keeps of the FLOP/s of one long document: dense 0.61× [0.58, 0.65].`

    At the longest length of each distribution; where the family has no FLOPs, the time that it takes.
    """
    lines: list[str] = []
    for (_, documents), losses in grouped(suite.document_losses, _place).items():
        longest = max(loss.seq for loss in losses)
        here = [loss for loss in losses if loss.seq == longest]
        rated = [loss for loss in here if loss.rate.value is not None]
        what = "keeps of the FLOP/s" if rated else "takes of the time"
        said = (
            f"{fmt.short_label(loss.implementation)} {_text(loss.rate if rated else loss.time)}"
            for loss in rated or here
        )
        at = f"lengths={documents} at {format_count(longest)}"
        lines.append(f"{at} {what} of one long document: {', '.join(said)}.")
    return lines


def _place(loss: DocumentLoss) -> tuple[str, str]:
    return loss.among, loss.documents


def _text(ratio: Estimate) -> str:
    if ratio.value is None:
        return ABSENT
    return fmt.speedup(ratio.value, ratio.low, ratio.high) + ("" if ratio.low else f" ({NO_INTERVAL})")


def loss_tables(suite: SuiteResults) -> list[TableData]:
    """A table per panel, a row per implementation and length that was timed on one long document, too."""
    panels = grouped(suite.document_losses, lambda loss: loss.among)
    return [
        TableData.of_sections(
            f"{suite.name}: what documents cost{f', {panel}' if len(panels) > 1 else ''}",
            (
                Column("lengths", right=False, folds=True),
                Column("seq"),
                Column("implementation", right=False, folds=True),
                Column("time / single", caption=APART),
                Column("FLOPs / single"),
                Column("rate / single"),
            ),
            [
                ((documents, format_count(seq)), [_loss_cells(loss, suite) for loss in losses])
                for (documents, seq), losses in grouped(
                    of_panel, lambda loss: (loss.documents, loss.seq)
                ).items()
            ],
        )
        for panel, of_panel in panels.items()
    ]


def _loss_cells(loss: DocumentLoss, suite: SuiteResults) -> tuple[Cell | str, ...]:
    return (
        name_cell(loss.implementation, suite.bounds),
        _text(loss.time),
        ABSENT if loss.work is None else fmt.ratio(loss.work),
        _text(loss.rate),
    )


def rows_table(suite: SuiteResults) -> TableData:
    """A row per distribution and length; none where all lengths are drawn with the inputs."""
    found = dict.fromkeys(rows for record in suite.records if (rows := document_rows(record)))
    by_rows = grouped(sorted(found, key=lambda rows: rows.seq), lambda rows: (rows.lengths, rows.packing))
    return TableData.of_sections(
        f"{suite.name}: documents of a row, and their causal imbalance",
        (
            Column("lengths", right=False, folds=True),
            Column("packing", right=False),
            Column("seq"),
            Column("documents"),
            Column("longest"),
            Column("padding"),
            *(
                Column(way, caption=CAUSAL, group=f"{ranks} ranks")
                for ranks in RANKS
                for way in ("contiguous", "zigzag")
            ),
        ),
        [(names, [_row_cells(rows) for rows in members]) for names, members in by_rows.items()],
    )


def _row_cells(rows: DocumentRows) -> tuple[Cell | str, ...]:
    if rows.reason:
        return (format_count(rows.seq), Cell(ABSENT, (rows.reason,)), *[ABSENT] * (2 + 2 * len(RANKS)))
    return (
        format_count(rows.seq),
        format_count(rows.documents),
        format_count(rows.longest),
        f"{100 * rows.padding:.1f} %",
        *(f"{value:.2f}×" for _, contiguous, zigzag in rows.imbalance for value in (contiguous, zigzag)),
    )
