"""The options of `export` and `history`, which hand stored runs on."""

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import OUTPUT, option, option_group
from harness.core.errors import UsageError, nearest

ExportedRun = Annotated[str, typer.Argument(help="A stored run: id, unique beginning, path or latest.")]
CasePattern = Annotated[str, typer.Argument(help="A case's id, or a pattern: 'mask/scatter@*seq=4096*'.")]
SvgFile = Annotated[Path | None, option(OUTPUT, "--out", "Draw it into this SVG file.")]

ROWS = ("csv", "parquet")
FORMS = (*ROWS, "markdown", "github-action-benchmark", "bencher")


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
