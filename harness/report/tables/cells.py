"""One function per column of a suite's table: from a case to a text with its footnotes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from harness.analysis.compare import Comparison
from harness.analysis.results import BODY_ONLY, HOST, body_only
from harness.analysis.roof_share import UNMEASURED, RoofShare
from harness.analysis.suite_results import CaseResult
from harness.core.metric import FLOPS, PEAK_BYTES, TEMP_BYTES, Metric
from harness.core.record import Record, state_bound
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.footnotes import INCORRECT, NO_INTERVAL, OTHER_SEMANTICS, SAME_PROGRAM, Footnotes
from harness.report.format import ABSENT

LONGEST_REASON = 22  # a reason of this length stands in the cell itself

# Opcodes that say what a program does: work for matrix units, selections, writes in no order, other kernels.
CLASSES = ("dot", "convolution", "sort", "scatter", "custom-call")

_STYLES = {"ok": "green", "oom": "yellow", "timeout": "yellow", "crashed": "red"}


class Cell(NamedTuple):  # a run has hundreds of thousands, and a frozen dataclass takes twice the time
    """A text, the numbers of its footnotes, and a style that only a colour terminal shows."""

    text: str
    notes: tuple[int, ...] = ()
    style: str = ""


def seq(row: CaseResult, notes: Footnotes) -> Cell:
    del notes
    return Cell(format_count(row.seq) if row.first else "")


def implementation(row: CaseResult, notes: Footnotes) -> Cell:
    compared = row.compared
    other = notes.mark_kind(OTHER_SEMANTICS) if compared and compared.other_semantics else ()
    bound = notes.mark_always(*state_bound(row.record.bound))
    return Cell(fmt.short_label(row.label), (*bound, *notes.mark(*_fact_notes(row.record.facts)), *other))


def _fact_notes(facts: Mapping[str, float | int | str | None]) -> list[str]:
    """The facts that an implementation states about a case; those without a value are left out.

    One sentence for the host and each other target (`NAME on TARGET`); targets with equal facts share one.
    """
    facts_by_target: dict[str, list[str]] = {}
    for name, value in facts.items():
        if value is not None:
            fact, _, target = name.partition(" on ")
            shown = value if isinstance(value, str) else f"{value:g}"
            facts_by_target.setdefault(target or HOST, []).append(f"{fact.replace('_', ' ')}: {shown}")
    targets_by_text: dict[str, list[str]] = {}
    for target, words in facts_by_target.items():
        targets_by_text.setdefault(", ".join(words), []).append(target)
    host_only = set(facts_by_target) == {HOST}
    return [text if host_only else f"on {', '.join(on)}: {text}" for text, on in targets_by_text.items()]


def time(row: CaseResult, notes: Footnotes) -> Cell:
    if row.time.value is None:
        cell = status(row, notes)  # where a time would stand: a narrow terminal has no room elsewhere
        return Cell(cell.text.removesuffix(" (expected)"), cell.notes, cell.style)
    text, _ = fmt.seconds(row.time.value, row.time.low, row.time.high)
    if row.time.low is not None:
        return Cell(text, notes.mark(*_reservations(row.records), *row.time.warnings))
    why = row.time.reason or ""
    marks = notes.mark(f"{NO_INTERVAL}: {why}", *_reservations(row.records), *row.time.warnings)
    return Cell(text, (*marks, *notes.mark_kind(NO_INTERVAL, _without_count(why))))


def _without_count(reason: str) -> str:
    """`needs ≥ 6 rounds` of `needs ≥ 6 rounds; has 3`, so that cases share a footnote."""
    return reason.partition("; has ")[0]


def _reservations(records: Sequence[Record]) -> list[str]:
    timings = [record.timing for record in records if record.timing is not None]
    notes: list[str] = []
    if any(timing.stopped == "budget" for timing in timings):
        notes.append("stopped by its budget of time or rounds before the interval was narrow")
    if any(timing.stopped == "interrupted" for timing in timings):
        notes.append("interrupted")
    discarded = sum(timing.discarded for timing in timings)
    if discarded:
        notes.append(f"{discarded} sample{'s' if discarded > 1 else ''} discarded")
    return [*notes, *filter(None, (fmt.gpu_state(timing.gpu) for timing in timings))]


def interval(row: CaseResult, notes: Footnotes) -> Cell:
    del notes
    if row.time.value is None:
        return Cell(ABSENT)
    return Cell(fmt.seconds(row.time.value, row.time.low, row.time.high)[1])


def speedup(row: CaseResult, notes: Footnotes) -> Cell:
    comparison = row.compared
    if comparison is None:
        return Cell("baseline", style="dim")
    if comparison.speedup is None:
        if row.time.value is None or comparison.baseline is None:
            return Cell(ABSENT)
        reason = comparison.reason or "n/a"
        if len(reason) <= LONGEST_REASON:
            return Cell(reason, notes.mark(*comparison.notes))
        return Cell("n/a", notes.mark(reason, *comparison.notes))
    marks = notes.mark_always(*state_bound(row.record.bound))
    if comparison.low is None and row.time.low is not None:
        marks += notes.mark_kind(NO_INTERVAL, _without_count(comparison.reason or ""))
    if comparison.low is None and comparison.reason != row.time.reason:
        marks += notes.mark(f"{NO_INTERVAL}: {comparison.reason}")
    marks += notes.mark(*(note for note in comparison.notes if note not in row.time.warnings))
    if comparison.same_program:
        marks += notes.mark_kind(SAME_PROGRAM)
    text = fmt.speedup(comparison.speedup, comparison.low, comparison.high)
    return Cell(text, tuple(dict.fromkeys(marks)), _speedup_style(comparison))


def per_step(row: CaseResult, _: Footnotes) -> Cell:
    """What the case saves in all calls of a model's step."""
    comparison = row.compared
    if comparison is None or comparison.per_step_s is None:
        return Cell("baseline" if comparison is None else ABSENT, style="dim" if comparison is None else "")
    text = fmt.saved_time(comparison.per_step_s, comparison.per_step_low_s, comparison.per_step_high_s)
    return Cell(text, style=_speedup_style(comparison))


def rate(row: CaseResult, notes: Footnotes, *, work: str, scale: float) -> Cell:
    """Work per second in units of `scale`, with the share of the device's peak where one is documented."""
    del notes
    throughput = row.throughput[work]
    if throughput.per_second is None:
        return Cell(ABSENT)
    text = fmt.in_units(throughput.per_second, throughput.low, throughput.high, scale)
    if throughput.share is None:
        return Cell(text)
    share = fmt.in_units(throughput.share, throughput.share_low, throughput.share_high, 0.01)
    return Cell(f"{text} ({share})")


def roof(row: CaseResult, notes: Footnotes) -> Cell:
    """The share of the roof that binds; one above the compute roof is refused."""
    found = row.roof or RoofShare(reason=UNMEASURED)
    if found.reason == UNMEASURED:
        return Cell("n/a", notes.mark_always(UNMEASURED))
    marks = notes.mark_always(*filter(None, (found.refused, found.note)))
    return Cell(fmt.roof(found), marks or notes.mark(found.reason or None), "red" if found.refused else "")


def _speedup_style(comparison: Comparison) -> str:
    if comparison.low is None or comparison.high is None:
        return ""
    return "green" if comparison.low > 1 else "red" if comparison.high < 1 else ""


def contract(row: CaseResult, notes: Footnotes) -> Cell:
    del notes
    correctness = row.record.correctness
    if correctness is None:
        return Cell(ABSENT)
    shown = [f"{name} {_plain(value)}" for name, value in list(correctness.figures.items())[:3]]
    return Cell(f"{correctness.contract}: {', '.join(shown)}" if shown else correctness.contract)


def _plain(value: float | str | None) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def figure(row: CaseResult, name: str, metric: Metric, notes: Footnotes, more: Sequence[str] = ()) -> Cell:
    if row.static is None:
        return Cell(ABSENT, notes.mark(*more))
    value = getattr(row.static, name)
    partial = BODY_ONLY if value is not None and body_only(row.static, name) else None
    return Cell(fmt.exact_figure(value, metric), notes.mark(row.static.unavailable.get(name), partial, *more))


def temp(row: CaseResult, notes: Footnotes) -> Cell:
    return figure(row, "temp_bytes", TEMP_BYTES, notes, row.static.warnings if row.static else ())


def peak(row: CaseResult, notes: Footnotes) -> Cell:
    return figure(row, "peak_bytes", PEAK_BYTES, notes)


def flops(row: CaseResult, notes: Footnotes) -> Cell:
    return figure(row, "flops", FLOPS, notes)


def operations(row: CaseResult, notes: Footnotes) -> Cell:
    """How many instructions of each of CLASSES the optimised module has, a loop's body counted once."""
    if row.static is None or not row.static.opcodes:
        return Cell(ABSENT, notes.mark(row.static.unavailable.get("program")) if row.static else ())
    counts = row.static.opcodes
    return Cell(", ".join(f"{counts[name]} {name}" for name in CLASSES if name in counts) or "0")


def _ratio(row: CaseResult, name: str, value: float | None, notes: Footnotes) -> Cell:
    if row.compared is None or row.compared.baseline is None:
        return Cell("")
    if value is None:
        return Cell(ABSENT, notes.mark(row.compared.unavailable.get(name)) if row.static else ())
    return Cell(fmt.ratio(value))


def temp_ratio(row: CaseResult, notes: Footnotes) -> Cell:
    return _ratio(row, "temp_bytes", row.compared.temp_ratio if row.compared else None, notes)


def bytes_ratio(row: CaseResult, notes: Footnotes) -> Cell:
    return _ratio(row, "bytes_accessed", row.compared.bytes_ratio if row.compared else None, notes)


def flops_ratio(row: CaseResult, notes: Footnotes) -> Cell:
    return _ratio(row, "flops", row.compared.flops_ratio if row.compared else None, notes)


def status(row: CaseResult, notes: Footnotes) -> Cell:
    record = row.record
    correctness = record.correctness
    failed = [other for other in row.records if other.status != record.status]
    some = (
        f"{len(failed)} of {len(row.records)} processes {failed[0].status}: {failed[0].reason}"
        if failed
        else None
    )
    if record.status == "incorrect":
        text, style = ("incorrect (expected)", "dim") if record.expected else ("INCORRECT", "bold red")
    elif record.unexpected:
        text, style = "NOT INCORRECT", "bold red"
        some = None if record.reason else "registered as incorrect, yet it meets its contract"
    else:
        text, style = record.status, _STYLES.get(record.status, "dim")
    crash_file = next((other.crash_file for other in row.records if other.crash_file), "")
    crash = f"traceback and output: {crash_file} in the run's folder" if crash_file else None
    sampled = correctness is not None and correctness.passed and correctness.coverage == "rows"
    marks = notes.mark(record.reason, "checked on sampled rows" if sampled else None, some)
    if record.status == "incorrect" or record.unexpected:
        marks += notes.mark_kind(INCORRECT, record.reason or some or "")
    if crash:
        marks += (*notes.mark(crash), *notes.mark_kind("crashed", crash))
    return Cell(
        f"{text} {len(row.records) - len(failed)}/{len(row.records)}" if failed else text, marks, style
    )
