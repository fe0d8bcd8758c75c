"""The share of the binding roof for each stage of a profile: its cell, its remarks and its data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.analysis.roofline import UNMEASURED, Roofline, RoofShare, case_share, stage_share
from harness.profile.stage_times import ProfiledCase
from harness.report import format as fmt
from harness.report.tables.cells import Cell
from harness.report.tables.table_data import Column

Rooflines = Mapping[str, Roofline]

COLUMN = Column("roof", rank=3, right=False)
WHOLE = "whole"
CAPTION = "roof: work a second over the measured ceiling that binds; of the whole by its family's count."


def roof_shares(case: ProfiledCase, rooflines: Rooflines) -> dict[str, RoofShare]:
    """The shares of the whole and of the stages, by their names."""
    shares = {
        entry.stage: stage_share(case.record, entry.figures, entry.busy, rooflines) for entry in case.stages
    }
    return {WHOLE: case_share(case.record, case.whole, rooflines), **shares}


def roof_cell(share: RoofShare) -> Cell:
    return Cell(fmt.roof(share), style="red" if share.refused else "")


def roof_sentences(cases: Sequence[ProfiledCase], rooflines: Rooflines) -> list[str]:
    """Which shares are refused, or above a level of memory, and why; or why there are no shares."""
    if not any(case.record.fingerprint in rooflines for case in cases):
        return [f"No roof: {UNMEASURED}."]
    stages: dict[str, dict[str, None]] = {}
    for case in cases:
        for name, share in roof_shares(case, rooflines).items():
            if share.refused or share.note:
                stages.setdefault(share.refused or share.note, {})[name or "in no stage"] = None
    return [*(f"{', '.join(names)}: {sentence}." for sentence, names in stages.items()), CAPTION]


def roof_data(series: Mapping[str, Sequence[ProfiledCase]], rooflines: Rooflines) -> Iterator[dict[str, Any]]:
    """Shares from 0 to 1, `stage` None for the whole call; one with a `reason` or `refused` is no share."""
    for case in (case for cases in series.values() for case in cases):
        for name, share in roof_shares(case, rooflines).items():
            yield {
                "case": case.record.case,
                "stage": None if name == WHOLE else name,
                **vars(share),
                "share": share.share._asdict(),
            }
