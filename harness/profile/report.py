"""Profiles on a terminal and as JSON: sentences, then a table of stages per length."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.analysis.results import label_of
from harness.analysis.roofline import UNMEASURED, Roofline, RoofShare, case_share, stage_share
from harness.analysis.stats import Estimate
from harness.core.grouped import collected
from harness.core.record import OperatorFigures
from harness.core.stage import JOINED
from harness.core.units import format_big, format_bytes, format_count, format_seconds
from harness.profile.stage_times import RESIDUAL, ProfiledCase, StageTime, bounds, estimate_data, growths
from harness.report import format as fmt
from harness.report.format import ABSENT
from harness.report.tables.cells import Cell
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import Column, TableData

Rooflines = Mapping[str, Roofline]

NO_STAGE = "in no stage"
WHOLE = "whole"
SMALLEST_JOINED_SHARE = 0.01  # of a call: smaller rows of operators of several stages are only in JSON
COLUMNS = (
    Column("seq"),
    Column("stage", right=False),
    Column("time"),
    Column("95 %"),
    Column("share"),
    Column("times", rank=4),
    Column("operators", rank=3),
    Column("FLOPs", rank=2),
    Column("GFLOP/s", rank=1),
    Column("bytes", rank=2),
    Column("roof", rank=3, right=False),
)
ROOF_CAPTION = "roof: rate over the measured ceiling that limits it; whole calls by family formulas."
OPERATORS = "Slowest operators: self time in one call, measured by the profiler"
OPERATOR_COLUMNS = (
    Column("seq"),
    Column("operator", right=False),
    Column("stage", right=False),
    Column("time"),
    Column("calls"),
    Column("bytes"),
)
CAPTION = (
    "time: median in a stage's own code per call with marks, and 95 % interval over rounds of one process. "
    "outer/inner is a nested stage. FLOPs: matrix products and attention kernels. bytes: operands and "
    "results, in cache or not. operators: dispatched, without views. a + b: operators fused from two stages, "
    "if at least 1 %. Operators that run at once share the time equally; GFLOP/s use the time in which a "
    "stage ran."
)


def print_profiles(
    console: Console, series: Mapping[str, Sequence[ProfiledCase]], rooflines: Rooflines | None = None
) -> None:
    """Print the answer of each series, then its stages by length, with shares of known ceilings."""
    for cases in series.values():
        sample = cases[0].record
        console.print(Text(f"{label_of(sample)}, {sample.mode} on {sample.device}", style="bold"))
        for sentence in sentences(cases):
            console.print(Text(sentence), soft_wrap=True)
        print_tables(console, _table(cases, rooflines or {}))
        for sentence in roof_sentences(cases, rooflines or {}):
            console.print(Text(sentence, style="dim"), soft_wrap=True)
        if any(case.operators for case in cases):
            print_tables(console, _operator_table(cases))
    if series:
        console.print(Text(CAPTION, style="dim"))


def sentences(cases: Sequence[ProfiledCase]) -> list[str]:
    """The largest stages at the longest length, the fastest growing stage, and the share of all stages."""
    longest = cases[-1]
    stages = [entry for entry in longest.stages if entry.stage != RESIDUAL]
    at = format_count(longest.seq)
    whole = fmt.seconds(*bounds(longest.whole))[0]
    if not stages:
        return [f"At {at} ({whole} per call): no stage is marked; use `with stage(…)` in the implementation."]
    largest = ", ".join(f"{entry.stage} {_share(entry.share)}" for entry in stages[:3])
    cost = fmt.speedup(*bounds(longest.cost))
    return [
        f"At {at} ({whole} per call): {largest}.",
        *_growth_sentence(cases),
        f"The stages cover {_share(longest.covered)} of the call. With marks, it takes {cost} as long.",
    ]


def _growth_sentence(cases: Sequence[ProfiledCase]) -> list[str]:
    """The sentence on the fastest growing stage; empty with a single length."""
    if not (found := growths(cases)):
        return []
    stage, exponent, low, high = found[0]
    bounded = (
        f"[{low:.2f}, {high:.2f}]" if low is not None and high is not None else "(no interval: two lengths)"
    )
    return [f"{stage} grows fastest, with N^{exponent:.2f} {bounded}."]


def _table(cases: Sequence[ProfiledCase], rooflines: Rooflines) -> TableData:
    sections = [([format_count(case.seq)], _rows(case, rooflines)) for case in cases]
    return TableData.of_sections("", COLUMNS, sections)


def _rows(case: ProfiledCase, rooflines: Rooflines) -> Iterator[tuple[Cell | str, ...]]:
    roofs = roof_shares(case, rooflines)
    whole = fmt.seconds(*bounds(case.whole))
    yield "whole, without marks", *whole, *[""] * 6, roof_cell(roofs[WHOLE])
    for entry in case.stages:
        if JOINED not in entry.stage or (entry.share.value or 0) >= SMALLEST_JOINED_SHARE:
            yield _row(entry, roofs[entry.stage])


def _row(entry: StageTime, roof: RoofShare) -> tuple[Cell | str, ...]:
    figures, rate = entry.figures, entry.flops_per_s
    return (
        entry.stage or NO_STAGE,
        *(fmt.seconds(*bounds(entry.time)) if entry.time.value else ("0 s", "")),
        _share(entry.share),
        "" if not entry.stage else ABSENT if figures.entered is None else str(figures.entered),
        ABSENT if figures.operators is None else str(figures.operators),
        format_big(figures.flops) if figures.flops else ABSENT,
        ABSENT if rate is None else fmt.significant(rate / 1e9, 3),
        ABSENT if figures.bytes is None else format_bytes(figures.bytes),
        roof_cell(roof),
    )


def _operator_table(cases: Sequence[ProfiledCase]) -> TableData:
    sections = [([format_count(case.seq)], map(_operator_row, case.operators)) for case in cases]
    return TableData.of_sections(OPERATORS, OPERATOR_COLUMNS, sections)


def _operator_row(figures: OperatorFigures) -> tuple[str, ...]:
    size = ABSENT if figures.bytes is None else format_bytes(figures.bytes)
    return figures.operator, figures.stage, format_seconds(figures.seconds), str(figures.calls), size


def _share(share: Estimate) -> str:
    """Format a share as `57.1 % [55.0, 59.3]`."""
    percent = [None if x is None else 100 * x for x in (share.value, share.low, share.high)]
    value, low, high = percent
    if value is None:
        return ABSENT
    return f"{value:.1f} %" if low is None or high is None else f"{value:.1f} % [{low:.1f}, {high:.1f}]"


def profile_data(series: Mapping[str, Sequence[ProfiledCase]]) -> dict[str, Any]:
    """Profiles as plain data: seconds, shares from 0 to 1, counts per call."""
    cases = [case for profiled in series.values() for case in profiled]
    return {
        "profiles": [_case_data(case) for case in cases],
        "growth": [
            {"implementation": label_of(profiled[0].record), **growth._asdict()}
            for profiled in series.values()
            for growth in growths(profiled)
        ],
    }


def _case_data(case: ProfiledCase) -> dict[str, Any]:
    return {
        "case": case.record.case,
        "implementation": label_of(case.record),
        "seq": case.seq,
        "whole": estimate_data(case.whole, "s"),
        "stages_sum": estimate_data(case.sum, "s"),
        "covered": estimate_data(case.covered),
        "marks_cost": estimate_data(case.cost),
        "stages": [_stage_data(entry) for entry in case.stages],
        "operators": [asdict(figures) for figures in case.operators],
    }


def _stage_data(entry: StageTime) -> dict[str, Any]:
    figures = entry.figures
    return {
        "stage": entry.stage,
        "time": estimate_data(entry.time, "s"),
        "busy": estimate_data(entry.busy, "s"),
        "share": estimate_data(entry.share),
        **{name: getattr(figures, name) for name in ("entered", "operators", "flops", "bytes")},
        "flops_per_s": entry.flops_per_s,
    }


def roof_shares(case: ProfiledCase, rooflines: Rooflines) -> dict[str, RoofShare]:
    """Roof shares of the whole call and of the stages, by name."""
    shares = {
        entry.stage: stage_share(case.record, entry.figures, entry.busy, rooflines) for entry in case.stages
    }
    return {WHOLE: case_share(case.record, case.whole, rooflines), **shares}


def roof_cell(share: RoofShare) -> Cell:
    return Cell(fmt.roof(share), style="red" if share.note else "")


def roof_sentences(cases: Sequence[ProfiledCase], rooflines: Rooflines) -> list[str]:
    """Explain shares above 1, or why there are no shares."""
    if not any(case.record.fingerprint in rooflines for case in cases):
        return [f"No roof: {UNMEASURED}."]
    shares = [pair for case in cases for pair in roof_shares(case, rooflines).items()]
    stages = collected((share.note, name or NO_STAGE) for name, share in shares if share.note)
    return [
        *(f"{', '.join(dict.fromkeys(names))}: {sentence}." for sentence, names in stages.items()),
        ROOF_CAPTION,
    ]


def roof_data(series: Mapping[str, Sequence[ProfiledCase]], rooflines: Rooflines) -> Iterator[dict[str, Any]]:
    """Shares, 0 to 1; `stage` is None for the whole call. `reason` explains a missing share."""
    for case in (case for cases in series.values() for case in cases):
        for name, share in roof_shares(case, rooflines).items():
            yield {
                "case": case.record.case,
                "stage": None if name == WHOLE else name,
                **vars(share),
                "share": share.share._asdict(),
            }
