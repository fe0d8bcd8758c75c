"""`export`: a stored run as CSV or Parquet."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from harness.commands.output import print_note
from harness.core.errors import MachineError
from harness.core.shown_text import clean_line
from harness.core.typed_command import quick_notes
from harness.store.find import find

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.filter import Selection
    from harness.sweep.project import Project


def export_rows(
    project: Project, name: str, selection: Selection, baseline: str | None, table: str, file_format: str
) -> bytes:
    """The rows of a run as csv or parquet; `table` is the method of RunFrames that returns them."""
    from harness.frames.load import RunFrames

    folder = find(project.results, name)
    for note in quick_notes(folder.readable_info([])):
        print_note(note)
    frame = getattr(RunFrames(folder.path, (folder,), selection, baseline, print_note), table)()
    return _csv(frame) if file_format == "csv" else _parquet(frame)


def _csv(frame: pd.DataFrame) -> bytes:
    """The frame as CSV: numbers with all digits, texts without control sequences."""
    texts = frame.select_dtypes(exclude=["number", "boolean", "datetimetz"])
    cleaned = {name: texts[name].map(clean_line, na_action="ignore") for name in texts}
    shown = frame.assign(**cleaned).rename(columns=clean_line)
    return shown.to_csv(index=False, lineterminator="\n").encode()


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, engine="pyarrow", index=False)
    except ImportError:
        raise MachineError("--to parquet: needs pyarrow; run pip install 'seqsweep[parquet]'") from None
    return buffer.getvalue()
