"""One function per column of a suite's table: the text of a case, with its footnotes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from harness.analysis.compare import Comparison
from harness.analysis.results import BODY_ONLY, HOST, body_only
from harness.analysis.roofline import UNMEASURED, RoofShare
from harness.analysis.stats import FASTER, SLOWER, required
from harness.analysis.suite_results import CaseResult
from harness.core.grouped import collected
from harness.core.record import Record, state_bound
from harness.core.units import FLOPS, PEAK_BYTES, TEMP_BYTES, Metric, format_count, format_seconds
from harness.report import format as fmt
from harness.report.format import ABSENT

LONGEST_REASON = 22  # a reason up to this length is shown in the cell, longer ones in a footnote

# The opcodes to count: work for matrix units, sorting, unordered writes, library kernels.
CLASSES = ("dot", "convolution", "sort", "scatter", "custom-call")

_STYLES = {"ok": "green", "oom": "yellow", "timeout": "yellow", "crashed": "red", "unjudged": "red"}


OTHER_SEMANTICS = "not mathematically equivalent to the baseline"
NO_INTERVAL = "no interval"
SAME_PROGRAM = "same program as the baseline: a time difference is noise"
INCORRECT = "incorrect"


class Cell(NamedTuple):  # a run has hundreds of thousands, and a frozen dataclass takes twice the time
    """A text, its footnotes, and a style that only a colour terminal shows.

    `kinds` are (kind of footnote, cause), for tables with one footnote per kind and cause.
    """

    text: str
    notes: tuple[str, ...] = ()
    style: str = ""
    kinds: tuple[tuple[str, str], ...] = ()


def sentences(*texts: str | None) -> tuple[str, ...]:
    """The texts that are not empty."""
    return tuple(filter(None, texts))


def _kinds(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Sentences that must accompany a figure, each as a separate kind of footnote."""
    return tuple((text, "") for text in texts)


def name_cell(label: str, bounds: Mapping[str, str]) -> Cell:
    """An implementation without its family, with its author's bound, if any."""
    bound = state_bound(bounds.get(label, ""))
    return Cell(fmt.short_label(label), tuple(bound), kinds=_kinds(bound))


def seq(row: CaseResult) -> Cell:
    return Cell(format_count(row.seq) if row.first else "")


def implementation(row: CaseResult) -> Cell:
    compared = row.compared
    bound = state_bound(row.record.bound)
    other = ((OTHER_SEMANTICS, ""),) if compared and compared.other_semantics else ()
    notes = (*bound, *_fact_notes(row.record.facts))
    return Cell(fmt.short_label(row.label), notes, kinds=(*_kinds(bound), *other))


def _fact_notes(facts: Mapping[str, float | int | str | None]) -> list[str]:
    """The facts that an implementation states about a case, without those that have no value.

    One sentence per target (`NAME on TARGET`, else the host); targets with equal facts share a sentence.
    """
    facts_by_target: dict[str, list[str]] = {}
    for name, value in facts.items():
        if value is not None:
            fact, _, target = name.partition(" on ")
            shown = value if isinstance(value, str) else f"{value:g}"
            facts_by_target.setdefault(target or HOST, []).append(f"{fact.replace('_', ' ')}: {shown}")
    targets_by_text = collected((", ".join(words), target) for target, words in facts_by_target.items())
    host_only = set(facts_by_target) == {HOST}
    return [text if host_only else f"on {', '.join(on)}: {text}" for text, on in targets_by_text.items()]


def time(row: CaseResult) -> Cell:
    if row.time.value is None:
        cell = status(row)  # in place of the time, because a narrow terminal drops the status column
        return cell._replace(text=cell.text.removesuffix(" (expected)"))
    text, _ = fmt.seconds(row.time.value, row.time.low, row.time.high)
    notes = (*_timing_notes(row.records), *row.time.warnings)
    if row.time.low is not None:
        return Cell(text, notes)
    missing = f"{NO_INTERVAL}: {row.time.reason}"
    return Cell(text, (missing, *notes), kinds=((NO_INTERVAL, required(row.time.unit)),))


def _timing_notes(records: Sequence[Record]) -> list[str]:
    timings = [record.timing for record in records if record.timing is not None]
    notes: list[str] = []
    if any(timing.stopped == "budget" for timing in timings):
        notes.append("stopped by its time or round budget before the interval was narrow enough")
    if any(timing.stopped == "interrupted" for timing in timings):
        notes.append("interrupted")
    discarded = sum(timing.discarded for timing in timings)
    if discarded:
        notes.append(f"{discarded} sample{'s' if discarded > 1 else ''} discarded")
    return [*notes, *filter(None, (fmt.gpu_state(timing.gpu) for timing in timings))]


def interval(row: CaseResult) -> Cell:
    if row.time.value is None:
        return Cell(ABSENT)
    return Cell(fmt.seconds(row.time.value, row.time.low, row.time.high)[1])


def speedup(row: CaseResult) -> Cell:
    comparison = row.compared
    if comparison is None:
        return Cell("baseline", style="dim")
    if comparison.speedup is None:
        if row.time.value is None or comparison.baseline is None:
            return Cell(ABSENT)
        reason = comparison.reason or "n/a"
        short = len(reason) <= LONGEST_REASON
        return Cell(reason if short else "n/a", (*(() if short else (reason,)), *comparison.notes))
    notes, kinds = list(state_bound(row.record.bound)), list(_kinds(state_bound(row.record.bound)))
    if comparison.low is None and row.time.low is not None:
        kinds.append((NO_INTERVAL, required(comparison.unit)))
    if comparison.low is None and comparison.reason != row.time.reason:
        notes.append(f"{NO_INTERVAL}: {comparison.reason}")
    notes += [note for note in comparison.notes if note not in row.time.warnings]
    if comparison.same_program:
        kinds.append((SAME_PROGRAM, ""))
    text = fmt.speedup(comparison.speedup, comparison.low, comparison.high)
    return Cell(text, tuple(notes), _speedup_style(comparison), tuple(kinds))


def per_step(row: CaseResult) -> Cell:
    """The time that the case saves per step of a model."""
    comparison = row.compared
    if comparison is None or comparison.per_step_s is None:
        return Cell("baseline" if comparison is None else ABSENT, style="dim" if comparison is None else "")
    text = fmt.saved_time(comparison.per_step_s, comparison.per_step_low_s, comparison.per_step_high_s)
    return Cell(text, style=_speedup_style(comparison))


def rate(row: CaseResult, *, work: str, scale: float) -> Cell:
    """Work per second in units of `scale`."""
    return Cell(fmt.in_units(row.throughput[work].rate, scale))


def bound(row: CaseResult) -> Cell:
    """The least time of a call at the ceilings."""
    return Cell(format_seconds(row.roof.bound_s) if row.roof and row.roof.bound_s else ABSENT)


def roof(row: CaseResult) -> Cell:
    """The share of the bound, and what limits; `n/a` without a count or ceilings."""
    found = row.roof or RoofShare(reason=UNMEASURED)
    if row.time.value is None:
        return Cell(ABSENT)
    if found.share.value is None:
        return Cell("n/a", (found.reason,), kinds=_kinds([found.reason]))
    always = sentences(found.note)
    text = f"{fmt.percent(found.share.value)} {found.word}"
    return Cell(text, (*always, *sentences(found.why)), "red" * bool(always), _kinds(always))


def _speedup_style(comparison: Comparison) -> str:
    return {FASTER: "green", SLOWER: "red"}.get(comparison.verdict, "")


def contract(row: CaseResult) -> Cell:
    correctness = row.record.correctness
    if correctness is None:
        return Cell(ABSENT)
    known = [f"{name} {_plain(value)}" for name, value in correctness.figures.items() if value is not None]
    return Cell(f"{correctness.contract}: {', '.join(known[:3])}" if known else correctness.contract)


def _plain(value: float | str) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def figure(row: CaseResult, name: str, metric: Metric) -> Cell:
    """A figure of the compiler; temporaries also have its warnings."""
    if row.static is None:
        return Cell(ABSENT)
    value = getattr(row.static, name)
    once = BODY_ONLY if value is not None and body_only(row.static, name) else None
    warnings = row.static.warnings if metric is TEMP_BYTES else ()
    notes = sentences(row.static.unavailable.get(name), once, *warnings)
    return Cell(fmt.exact_figure(value, metric), notes)


temp = partial(figure, name="temp_bytes", metric=TEMP_BYTES)
peak = partial(figure, name="peak_bytes", metric=PEAK_BYTES)
flops = partial(figure, name="flops", metric=FLOPS)


def operations(row: CaseResult) -> Cell:
    """Instruction counts by CLASSES in the optimised module, with each loop body counted once."""
    if row.static is None or not row.static.opcodes:
        return Cell(ABSENT, sentences(row.static.unavailable.get("program")) if row.static else ())
    counts = row.static.opcodes
    return Cell(", ".join(f"{counts[name]} {name}" for name in CLASSES if name in counts) or "0")


def ratio(row: CaseResult, name: str, of: str) -> Cell:
    """The ratio `name` of a comparison, computed from the figure `of`."""
    if row.compared is None or row.compared.baseline is None:
        return Cell("")
    value = getattr(row.compared, name)
    if value is None:
        return Cell(ABSENT, sentences(row.compared.unavailable.get(of)) if row.static else ())
    return Cell(fmt.ratio(value))


temp_ratio = partial(ratio, name="temp_ratio", of="temp_bytes")
bytes_ratio = partial(ratio, name="bytes_ratio", of="bytes_accessed")
flops_ratio = partial(ratio, name="flops_ratio", of="flops")


def status(row: CaseResult) -> Cell:
    record = row.record
    correctness = record.correctness
    failed = [other for other in row.records if other.status != record.status]
    ends = Counter(f"processes {other.status}: {other.reason}" for other in failed)
    some = "; ".join(f"{count} of {len(row.records)} {end}" for end, count in ends.items())
    if record.status == "incorrect":
        text, style = ("incorrect (expected)", "dim") if record.expected else ("INCORRECT", "bold red")
    elif record.unexpected:
        text, style = "UNEXPECTED PASS" if record.expected else "UNEXPECTED CHECK", "bold red"
        odd = "marked as incorrect but passes its contract" if record.expected else "see the table of checks"
        some = "" if record.reason else odd
    else:
        text, style = record.status, _STYLES.get(record.status, "dim")
    crash_file = next((other.crash_file for other in row.records if other.crash_file), "")
    crash = f"traceback and output: {crash_file} in the run's folder" if crash_file else None
    sampled = correctness is not None and correctness.passed and correctness.coverage == "rows"
    notes = sentences(record.reason, "checked on sampled rows" if sampled else None, some, crash)
    kinds: list[tuple[str, str]] = []
    if record.status == "incorrect" or record.unexpected:
        kinds.append((INCORRECT, record.reason or some))
    if crash:
        kinds.append(("crashed", crash))
    count = f" {len(row.records) - len(failed)}/{len(row.records)}" if failed else ""
    return Cell(text + count, notes, style, tuple(kinds))
