"""The options of the commands that read stored runs: which run, which part of it, and in which form."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.option_groups import REQUIRED, argument, flag, option, option_group
from harness.commands.options import DEVICE, OUTPUT, PLACES, SELECTION, PointFlags, Text, Words, split_words
from harness.core.errors import UsageError, nearest

if TYPE_CHECKING:
    from harness.analysis.filter import Selection

LATEST = "latest"
FORMS = ("csv", "parquet")

SUITES = argument("Suites to keep; none: all of the run.")
BASELINE = option(SELECTION, "What speedups are relative to.")
STORED_RUN = option(
    PLACES, "A stored run: id, its beginning, path, latest or latest~1.", LATEST, name="--run"
)
SVG_FILE = option(OUTPUT, "Draw it into this SVG file.")


@option_group
class StoredFlags(PointFlags):
    """Which cases of a stored run."""

    device: Words = DEVICE

    def part(self, suites: Sequence[str] | None) -> "Selection":
        """The part of a run to show: of these suites, or of all."""
        from harness.analysis.filter import Selection

        words = self.family, self.impl, self.seq, self.mode, self.device
        return Selection(tuple(suites or ()), *map(split_words, words))


@option_group
class ReportFlags:
    """Which document, and where it goes."""

    into: Path | None = option(OUTPUT, "Fill the marked blocks of this Markdown file, or make it.")
    check: bool = flag(OUTPUT, "With --into: write nothing; exit 1 if stale.")
    pr: bool = flag(OUTPUT, "A receipt of one run, for a pull request.")
    chart: Text = option(OUTPUT, "With --pr: the URL of a chart to show.")
    html: Path | None = option(OUTPUT, "Write one page that needs no network into this file.")


@option_group
class ExportFlags:
    """Which form, of what, and where it goes."""

    to: str = option(OUTPUT, "csv or parquet.", REQUIRED)
    out: Path | None = option(OUTPUT, "Write this file, not standard output.")
    samples: bool = flag(OUTPUT, "A row per reading.")
    static: bool = flag(OUTPUT, "A row per compiled target.")
    kernels: bool = flag(OUTPUT, "A row per GPU kernel, configuration and target.")

    def table(self) -> str:
        """The method of RunFrames that gives the rows. UsageError for an unknown form, and two tables."""
        asked = [name for name in ("samples", "static", "kernels") if getattr(self, name)]
        if self.to not in FORMS:
            raise UsageError(f'--to: unknown form "{self.to}"{nearest(self.to, FORMS)}')
        if len(asked) > 1:
            raise UsageError(f"--{asked[0]}: goes without --{asked[1]}; export one table at a time")
        if self.to == "parquet" and self.out is None:
            raise UsageError("--to parquet: is no text; name a file with --out")
        return [*asked, "frame"][0]
