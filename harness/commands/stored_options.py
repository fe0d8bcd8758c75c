"""The options of the commands that read stored runs: which run, which part of it, and in which form."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import (
    OUTPUT,
    PLACES,
    RUN,
    SELECTION,
    Device,
    Family,
    Impl,
    Mode,
    Seq,
    Text,
    Words,
    option,
    option_group,
    split_words,
)
from harness.core.errors import UsageError, nearest

if TYPE_CHECKING:
    from harness.analysis.filter import Selection

ExportedRun = Annotated[str, typer.Argument(help="A stored run: id, unique beginning, path or latest.")]
CasePattern = Annotated[str, typer.Argument(help="A case's id, or a pattern: 'mask/scatter@*seq=4096*'.")]
SvgFile = Annotated[Path | None, option(OUTPUT, "--out", "Draw it into this SVG file.")]
StoredSuites = Annotated[Words, typer.Argument(help="Suites to keep; none: all of the run.")]
ComparedRuns = Annotated[
    Words,
    typer.Argument(help="Two runs, the earlier first, or one with --impl; with --across: suites, or none."),
]
Across = Annotated[
    bool, option(SELECTION, "--across", "The same comparisons on every machine: how many agree, and on what.")
]
Force = Annotated[bool, option(SELECTION, "--force", "Also compare runs of different machines.")]
StoredBaseline = Annotated[Text, option(SELECTION, "--baseline", "What speedups are relative to.")]
StoredRun = Annotated[
    str, option(PLACES, "--run", "A stored run: id, its beginning, path, latest or latest~1.")
]
StoredRuns = Annotated[Words, option(PLACES, "--run", "Stored runs, one or several; none: the newest.")]
RunsAcross = Annotated[
    Words, option(PLACES, "--run", "With --across: these runs alone, not all stored ones.")
]
RecordHash = Annotated[Text, option(SELECTION, "--record", "The record whose hash begins so, and no table.")]
ReceiptFile = Annotated[Path, typer.Argument(help="A file with a receipt, as report --pr writes it.")]
ChartFolder = Annotated[Path | None, option(PLACES, "--out", "Folder for the SVGs.")]
Png = Annotated[bool, option(OUTPUT, "--png", "Each chart as PNG, too.")]
Keep = Annotated[int | None, option(RUN, "--keep", "Delete all runs but so many, the newest.")]
KeepDryRun = Annotated[
    bool, option(RUN, "--dry-run", "With --keep: name what would be deleted, and its size.")
]

Sources = Annotated[
    list[str], typer.Argument(help="Folders or URLs of other machines' results, or of single runs.")
]
CollectCheck = Annotated[
    bool, option(OUTPUT, "--check", "Write nothing; exit 1 where a joined run is not what its shards give.")
]

LATEST = "latest"
ROWS = ("csv", "parquet")
FORMS = (*ROWS, "markdown", "github-action-benchmark", "bencher")


@option_group
class StoredFlags:
    """Which cases of a stored run."""

    family: Family = None
    impl: Impl = None
    seq: Seq = None
    mode: Mode = None
    device: Device = None

    def part(self, suites: Sequence[str] | None) -> "Selection":
        """The part of a run to show: of these suites, or of all."""
        from harness.analysis.filter import Selection

        return Selection(
            tuple(suites or ()),
            split_words(self.family),
            split_words(self.impl),
            split_words(self.seq),
            split_words(self.mode),
            split_words(self.device),
        )


@option_group
class ReportFlags:
    """Which document, and where it goes."""

    into: Annotated[
        Path | None, option(OUTPUT, "--into", "Fill the marked blocks of this Markdown file, or make it.")
    ] = None
    check: Annotated[bool, option(OUTPUT, "--check", "With --into: write nothing; exit 1 if stale.")] = False
    pr: Annotated[bool, option(OUTPUT, "--pr", "A receipt of one run, for a pull request.")] = False
    chart: Annotated[Text, option(OUTPUT, "--chart", "With --pr: the URL of a chart to show.")] = None
    html: Annotated[
        Path | None, option(OUTPUT, "--html", "Write one page that needs no network into this file.")
    ] = None

    def refuse_alone(self) -> None:
        """UsageError for flags that need another one, or go without it."""
        if self.html is not None and (self.into is not None or self.pr):
            raise UsageError("--html: goes without --into and --pr; call report once for each document")
        if self.check and self.into is None:
            raise UsageError(
                "--check: name the file that it compares, as in seqsweep report --into FINDINGS.md --check"
            )
        if self.chart is not None and not self.pr:
            raise UsageError("--chart: goes with --pr, whose receipt shows it")
        if self.pr and self.into is not None:
            raise UsageError("--pr: goes to standard output; leave --into away, and send it to a file")


@option_group
class ExportFlags:
    """Which form, of what, and where it goes."""

    to: Annotated[str, option(OUTPUT, "--to", "csv, parquet, markdown, github-action-benchmark or bencher.")]
    out: Annotated[Path | None, option(OUTPUT, "--out", "Write this file, not standard output.")] = None
    samples: Annotated[bool, option(OUTPUT, "--samples", "csv, parquet: a row per reading.")] = False
    static: Annotated[bool, option(OUTPUT, "--static", "csv, parquet: a row per compiled target.")] = False

    def table(self) -> str | None:
        """The method of RunFrames that gives the rows; None for a form without rows.

        UsageError for a form that does not exist, or that the other flags do not go with.
        """
        asked = [name for name in ("samples", "static") if getattr(self, name)]
        if self.to not in FORMS:
            raise UsageError(f'--to: unknown form "{self.to}"{nearest(self.to, FORMS)}')
        if len(asked) > 1 or (asked and self.to not in ROWS):
            raise UsageError(f"--{asked[0]}: alone, with --to csv or parquet")
        if self.to == "parquet" and self.out is None:
            raise UsageError("--to parquet: is no text; name a file with --out")
        return [*asked, "frame"][0] if self.to in ROWS else None
