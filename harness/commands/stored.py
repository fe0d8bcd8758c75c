"""A stored run, as far as the flags keep it: for the commands that show it and draw it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.analysis.filter import Selection
from harness.store.find import find
from harness.store.runs import Stored
from harness.sweep.project import Asked, words

SELECTING = ("family", "impl", "seq", "mode", "device")


def stored_run(asked: Asked) -> Stored:
    """The part of a stored run that the flags keep."""
    folder = find(asked.results, asked.flags["run"])
    stored = folder.read()
    selection = Selection(
        tuple(asked.flags.get("names") or ()), *(words(asked.flags.get(name)) for name in SELECTING)
    )
    info, records = selection.of({**stored.info, "fingerprints": folder.fingerprints()}, stored.records)
    return replace(stored, info=info, records=tuple(records))


def draw(asked: Asked) -> list[Path]:
    """Draw the run's charts; the files."""
    from harness.report.charts import draw_run
    from harness.store.atomic import write_files

    stored = stored_run(asked)
    charts = draw_run(stored.info, stored.records)
    return write_files(asked.flags.get("out") or asked.config().home / "charts", charts)
