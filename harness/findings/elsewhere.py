"""Further sections of the findings: other machines, profiles, and plans for absent devices."""

from collections.abc import Iterable, Sequence

from harness.analysis.machine_speedups import machine_speedups
from harness.analysis.results import HOST, label_of
from harness.analysis.suite_results import CaseResult
from harness.core.units import format_bytes, format_count
from harness.findings.document import FindingsTable, Part, Slot
from harness.findings.figures_table import time_slots
from harness.findings.kept_run import KeptRun
from harness.findings.panel_verdict import PanelVerdict
from harness.profile.report import NO_STAGE, sentences
from harness.profile.stage_times import ProfiledCase, StageTime, profiled_series
from harness.report.format import short_label
from harness.report.tables.bounds_table import bound_lines
from harness.report.tables.kernels import kernel_lines
from harness.report.tables.machine_speedups_table import answer_of, by_panel, sentence
from harness.report.tables.owners_table import longest_owned

NO_DEVICE = Slot(empty="no device", reason="compiled for it here, and timed nowhere")
NOT_TIMED = Slot(empty="not timed", reason="this run compiled and ran nothing")


def machine_parts(runs: Sequence[KeptRun]) -> Iterable[Part]:
    """Per panel that the runs have on several fingerprints, what the machines say."""
    swept = [suite for run in runs if run.depth == "run" for suite in run.suites]
    if len({record.fingerprint for suite in swept for record in suite.records}) < 2:
        return
    shared = [found for found in machine_speedups(swept) if len(found.machines) > 1]
    for (suite, name), panel in by_panel(shared).items():
        yield Part(suite, f"{suite}: {name}, on several machines", sentence(answer_of(panel)))


def profile_parts(run: KeptRun) -> Iterable[Part]:
    """Per profiled series, what its profile says, and the stages of its longest call."""
    for cases in profiled_series(run.records).values():
        longest = cases[-1]
        rows = tuple(_stage_row(run, longest, entry) for entry in longest.stages)
        table = FindingsTable(("stage", "time", "95 %", "share of the call", "record"), rows)
        said = f"{label_of(longest.record)}, {longest.record.mode} on {longest.record.device}"
        yield Part(longest.record.family, said, sentences=tuple(sentences(cases)), table=table)


def _stage_row(run: KeptRun, case: ProfiledCase, entry: StageTime) -> tuple[Slot, ...]:
    share = entry.share.value
    whole = Slot(empty="no share") if share is None else Slot(f"{100 * share:.1f} %")
    record = Slot(run.name_records([case.record]))
    return Slot(entry.stage or NO_STAGE), *time_slots(entry.time), whole, record


def plans_part(judged: PanelVerdict) -> Part | None:
    """Per target and implementation, the longest length that fits, with its plan.

    Beside it the owners of its peak, the figures of kernels, and the bounds by documented rates, where they
    were asked for. None for the host alone without owners.
    """
    run, panel = judged.run, judged.panel
    targets, owned = panel.compiled_targets, tuple(longest_owned(panel))
    if not owned and not any(target != HOST for target in targets):
        return None
    labels = [label for label in panel.implementations if label in panel.by_label]
    records = Slot(run.name_records(panel.records))
    rows: list[tuple[Slot, ...]] = []
    for target in targets:
        cases = panel.cases_on(target)
        plans = [_plan([row for row in cases if row.label == label]) for label in labels]
        time = NO_DEVICE if target != HOST else NOT_TIMED
        rows.append((Slot(target), *plans, time, records if not rows else Slot("as above")))
    columns = ("target", *map(short_label, labels), "time", "records")
    caption = (
        "“16Ki, not 64Ki: 8 GiB”: 16Ki is the longest length compiled whose plan, 8 GiB, fits, and 64Ki "
        "the next, which does not fit; ≥: the longest compiled fits; <: the shortest does not."
    )
    table = FindingsTable(columns, tuple(rows), caption)
    kernels = (line for target in targets for line in kernel_lines(panel, target))
    said = (*owned, *kernels, *bound_lines(panel))
    return Part(panel.name, judged.heading, sentences=said, table=table)


def _plan(rows: list[CaseResult]) -> Slot:
    """`64Ki, not 128Ki: 8.2 GiB`; `≥ 128Ki: …` where every length fits."""
    known = [(row.seq, row.static) for row in rows if row.static and row.static.fits is not None]
    fitting = [(seq, static) for seq, static in known if static.fits]
    beyond = next((seq for seq, static in known if not static.fits), None)
    if not known:
        why = next((row.static.unavailable.get("temp_bytes", "") for row in rows if row.static), "")
        return Slot(empty="not compiled", reason=why)
    if not fitting:
        return Slot(f"< {format_count(known[0][0])}")
    seq, static = fitting[-1]
    plan = static.planned_bytes
    text = f"{format_count(seq)}, not {format_count(beyond)}" if beyond else f"≥ {format_count(seq)}"
    return Slot(text + (f": {format_bytes(plan)}" if plan is not None else ""))
