"""Tables of real document lengths: their cost against one long document, and their imbalance over ranks."""

from harness.analysis.document_loss import DocumentLoss
from harness.analysis.document_rows import DocumentRows, document_rows, imbalance
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
RANKS = (8, 64)
CAUSAL = (
    "R ranks: causal work (keys of a token's own document up to it) of the busiest rank over the mean, "
    "counted and not measured; contiguous: equal parts of a row; zigzag: parts r and 2 R − 1 − r of 2 R."
)


def loss_lines(suite: SuiteResults) -> list[str]:
    """`lengths=pretrain at 16Ki keeps of the FLOP/s of one long document: dense 0.61× [0.58, 0.65].`

    At the longest length of each distribution; where the family has no FLOPs, the time that it takes.
    """
    lines: list[str] = []
    for (_, documents), losses in grouped(
        suite.document_losses, lambda loss: (loss.among, loss.documents)
    ).items():
        here = [loss for loss in losses if loss.seq == max(loss.seq for loss in losses)]
        rated = all(loss.work for loss in here)
        said = [(fmt.short_label(each.implementation), each.rate if rated else each.time) for each in here]
        what = "keeps of the FLOP/s" if rated else "takes of the time"
        shown = ", ".join(f"{name} {_text(ratio)}" for name, ratio in said)
        at = f"lengths={documents} at {format_count(here[0].seq)}"
        lines.append(f"{at} {what} of one long document: {shown}.")
    return lines


def _text(ratio: Estimate) -> str:
    if ratio.value is None:
        return ABSENT
    return fmt.speedup(ratio.value, ratio.low, ratio.high) + ("" if ratio.low else f" ({NO_INTERVAL})")


def loss_table(suite: SuiteResults) -> TableData:
    """A row per implementation and length that was timed on one long document, too."""
    losses = suite.document_losses
    several = len({loss.among for loss in losses}) > 1
    sections = grouped(losses, lambda loss: (loss.panel if several else loss.documents, loss.seq))
    names = [Column("lengths", right=False, folds=True), Column("seq"), Column("", right=False, folds=True)]
    ratios = [Column("time / single", caption=APART), Column("FLOPs / single"), Column("rate / single")]
    return TableData.of_sections(
        f"{suite.name}: what documents cost",
        [*names, *ratios],
        [
            ((where, format_count(seq)), [_loss_cells(loss, suite) for loss in of_place])
            for (where, seq), of_place in sections.items()
        ],
    )


def _loss_cells(loss: DocumentLoss, suite: SuiteResults) -> tuple[Cell | str, ...]:
    work = ABSENT if loss.work is None else fmt.ratio(loss.work)
    return name_cell(loss.implementation, suite.bounds), _text(loss.time), work, _text(loss.rate)


def rows_table(suite: SuiteResults) -> TableData:
    """A row per distribution and length; none where all lengths are drawn with the inputs."""
    found = dict.fromkeys(rows for record in suite.records if (rows := document_rows(record)))
    by_rows = grouped(sorted(found, key=lambda rows: rows.seq), lambda rows: (rows.lengths, rows.packing))
    names = [Column("lengths", right=False, folds=True), Column("packing", right=False), Column("seq")]
    counts = [Column("documents"), Column("longest"), Column("padding")]
    ways = [(ranks, way) for ranks in RANKS for way in ("contiguous", "zigzag")]
    shares = [Column(way, caption=CAUSAL, group=f"{ranks} ranks") for ranks, way in ways]
    return TableData.of_sections(
        f"{suite.name}: documents of a row, and their causal imbalance",
        [*names, *counts, *shares],
        [(place, [_row_cells(rows) for rows in members]) for place, members in by_rows.items()],
    )


def _row_cells(packed: DocumentRows) -> tuple[Cell | str, ...]:
    seq, rows = packed.seq, packed.rows
    if packed.reason:
        return (format_count(seq), Cell(ABSENT, (packed.reason,)), *[ABSENT] * (2 + 2 * len(RANKS)))
    shares = [imbalance(rows, seq, ranks, zigzag=zigzag) for ranks in RANKS for zigzag in (False, True)]
    return (
        format_count(seq),
        format_count(sum(map(len, rows))),
        format_count(max(map(max, rows))),
        f"{100 * (1 - sum(map(sum, rows)) / (len(rows) * seq)):.1f} %",
        *(f"{share:.2f}×" for share in shares),
    )
