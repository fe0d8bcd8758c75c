"""What a panel's records show, how far that holds, and what would overturn it."""

from __future__ import annotations

from harness.analysis.compare import Comparison
from harness.analysis.scaling import near
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.units import format_bytes, format_count
from harness.findings.document import Part
from harness.findings.kept_run import KeptRun
from harness.report import format as fmt
from harness.report.answer import answer
from harness.report.finding import UNCLEAR, PanelFinding, panel_finding
from harness.report.format import short_label
from harness.report.memory_limit import limit_of
from harness.report.provenance import machine_label
from harness.report.tables.suite import heading


def verdict_part(run: KeptRun, panel: SuiteResults) -> Part:
    """The verdict, then the fastest, crossovers, and where memory ends."""
    finding = panel_finding(panel)
    lead = "Nothing was timed beside a baseline." if finding is None else _verdict(run, panel, finding)
    said = (crossover_sentence(panel), *answer(panel), memory_sentence(run, panel))
    return Part(panel.name, panel_heading(panel), lead, tuple(filter(None, said)))


def panel_heading(panel: SuiteResults) -> str:
    sample = panel.records[0]
    return f"{heading(panel)}, {sample.mode} on {sample.device}"


def _verdict(run: KeptRun, panel: SuiteResults, finding: PanelFinding) -> str:
    """`nsa_mslk beats dense from 8Ki: 2.67× at 16Ki, 95 % [2.46, 2.85]; on cpu …; holds from 8Ki to 16Ki.`"""
    sample = panel.records[0]
    interval = _interval(finding.compared)
    bounded = [c for c in panel.comparisons if c.implementation == finding.compared.implementation and c.low]
    if interval:
        within = [f"95 % {interval}"]
    elif bounded:
        longest = max(bounded, key=lambda c: c.seq)
        ratio = fmt.speedup(longest.speedup or 1.0, longest.low, longest.high)
        within = [f"with an interval last at {format_count(longest.seq)}: {ratio}"]
    else:
        within = []
    first, last = _held(panel, finding)
    lengths = f"from {format_count(first)} to" if first < last else "at"
    machine = f"on {sample.device}, {machine_label(sample.fingerprint, run.info)}"
    holds = "nothing is claimed" if finding.verdict == UNCLEAR else f"holds {lengths} {format_count(last)}"
    return f"{', '.join([finding.sentence(), *within])}; {machine}; {holds}."


def _interval(compared: Comparison) -> str:
    """`[2.46, 2.85]`; empty where there is none."""
    return fmt.speedup(compared.speedup or 1.0, compared.low, compared.high).partition(" ")[2]


def crossover_sentence(panel: SuiteResults) -> str:
    """Where the verdict's implementation begins, or ceases, to win; empty where nothing was compared."""
    finding = panel_finding(panel)
    label = finding.compared.implementation if finding else ""
    crossing = next((c for c in panel.crossovers if c.implementation == label), None)
    if crossing is None:
        return ""
    name = short_label(label)
    at = f", {near(crossing.interpolated)} by interpolation" if crossing.interpolated else ""
    before = [c.seq for c in panel.comparisons if c.implementation == label and c.speedup is not None]
    shorter = [seq for seq in before if seq < (crossing.first_grid or 0)]
    if crossing.first_grid is not None and shorter:
        between = f"between {format_count(max(shorter))} and {format_count(crossing.first_grid)}"
        return f"Crossover of {name}: {between}{at}."
    if crossing.last_grid is not None:
        return f"Crossover of {name}: it wins until {format_count(crossing.last_grid)}{at}."
    none = (crossing.reason or "it always wins").removeprefix("none in range: ")
    return f"Crossover of {name}: none in range, {none}."


def _held(panel: SuiteResults, finding: PanelFinding) -> tuple[int, int]:
    """The lengths, all of them measured, between which the verdict was seen to hold."""
    last = finding.compared.seq
    lengths = [c.seq for c in panel.comparisons if c.implementation == finding.compared.implementation]
    timed = sorted(seq for seq in lengths if seq <= last)
    if finding.faster_from is not None:
        return finding.faster_from, last
    return (timed[0] if finding.everywhere and timed else last), last


def memory_sentence(run: KeptRun, panel: SuiteResults) -> str:
    """Per implementation the longest length that fits the host, and the next one, which does not."""
    limit = limit_of(run.info, panel.name, "host")
    within = f"Memory boundary ({format_bytes(limit)} for a group)" if limit else "Memory boundary"
    beyond: list[str] = []
    for label in panel.implementations:
        cases = [row for row in panel.cases if row.label == label]
        out = min((row for row in cases if does_not_fit(row)), key=lambda row: row.seq, default=None)
        if out is not None:
            fitting = max(
                (row.seq for row in cases if row.seq < out.seq and row.status == "ok"), default=None
            )
            plan = out.static.planned_bytes if out.static else None
            needs = f", which plans {format_bytes(plan)}" if plan else ""
            until = f"fits {format_count(fitting)}, not" if fitting else "does not fit"
            beyond.append(f"{short_label(label)} {until} {format_count(out.seq)}{needs}")
    tried = {row.label for row in panel.cases if row.status == "ok"}
    longest = format_count(max(row.seq for row in panel.cases))
    others = "what else ran fits every length" if beyond else "whatever ran fits"
    rest = f"{others}, to {longest} at most" if tried else "nothing ran"
    return f"{within}: {'; '.join([*beyond, rest])}."


def does_not_fit(row: CaseResult) -> bool:
    return row.status == "oom" or (row.static is not None and row.static.fits is False)


def overturn_part(panel: SuiteResults) -> Part:
    """Which measurement would overturn the verdict, and what it leaves open."""
    finding = panel_finding(panel)
    if finding is None:
        return Part(panel.name, panel_heading(panel), sentences=("There is no verdict to overturn.",))
    compared = finding.compared
    first, last = _held(panel, finding)
    pair = f"{finding.implementation} and {finding.baseline}"
    if finding.verdict in {"faster", "slower"}:
        other = "slower" if finding.verdict == "faster" else "faster"
        at = " or ".join(dict.fromkeys((format_count(first), format_count(last))))
        lines = [f"An interval of the ratio of {pair} at {at}, on this device, that reaches 1 or is {other}."]
    else:
        lines = [f"An interval of the ratio of {pair} at {format_count(last)} that excludes 1."]
    before = [
        c.seq for c in panel.comparisons if c.implementation == compared.implementation and c.seq < first
    ]
    if finding.faster_from is not None and before:
        lines.append(f"A win at {format_count(max(before))} already, which would move the crossover.")
    if compared.low is None:
        lines.append(f"More rounds: at {format_count(last)} there is no interval ({compared.reason}).")
    untold = sorted({c.seq for c in panel.comparisons if c.speedup is None and c.seq > last})
    if untold:
        lines.append(f"A speedup at {', '.join(map(format_count, untold))}, where none could be measured.")
    if finding.semantics:
        lines.append(f"A task for which {finding.semantics} will not serve: it is another mathematics.")
    return Part(panel.name, panel_heading(panel), sentences=tuple(lines))
