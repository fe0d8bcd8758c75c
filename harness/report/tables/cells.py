"""One function per column of a suite's table: from a case to a text with its footnotes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.analysis.compare import Comparison
from harness.analysis.results import BODY_ONLY, HOST, body_only, label_of, representative
from harness.analysis.stats import Estimate
from harness.core.metric import FLOPS, PEAK_BYTES, TEMP_BYTES, Metric
from harness.core.record import Record
from harness.core.static_figures import Static
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.format import ABSENT

LONGEST_NOTE = 220
LONGEST_REASON = 20  # a reason of this length stands in the cell itself

_STYLES = {"ok": "green", "oom": "yellow", "timeout": "yellow", "crashed": "red"}


@dataclass(frozen=True)
class Cell:
    """A text, the numbers of its footnotes, and a style that only a colour terminal shows."""

    text: str
    notes: tuple[int, ...] = ()
    style: str = ""


@dataclass(frozen=True)
class CaseRow:
    """One case with all a column may ask of it; `first` at the first case of a length."""

    own: tuple[Record, ...]
    first: bool
    time: Estimate
    static: Static | None
    compared: Comparison | None

    @property
    def seq(self) -> int:
        return self.own[0].seq

    @property
    def record(self) -> Record:
        return representative(self.own)


@dataclass
class Footnotes:
    """Sentences numbered from 1 as they are first needed; the same sentence has one number."""

    texts: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.texts)

    def mark(self, *sentences: str | None) -> tuple[int, ...]:
        """The numbers of these sentences; empty ones have none."""
        numbers: list[int] = []
        for sentence in filter(None, sentences):
            short = _shorten(sentence)
            if short not in self.texts:
                self.texts.append(short)
            numbers.append(self.texts.index(short) + 1)
        return tuple(dict.fromkeys(numbers))

    def since(self, count: int) -> list[tuple[int, str]]:
        return list(enumerate(self.texts[count:], count + 1))


def _shorten(sentence: str) -> str:
    flat = " ".join(sentence.split())
    return flat if len(flat) <= LONGEST_NOTE else flat[: LONGEST_NOTE - 1].rsplit(" ", 1)[0] + " …"


def short_label(label: str) -> str:
    """The label without its family, which the title names."""
    return label.split("/", 1)[1]


def seq(row: CaseRow, notes: Footnotes) -> Cell:
    del notes
    return Cell(format_count(row.seq) if row.first else "")


def implementation(row: CaseRow, notes: Footnotes) -> Cell:
    return Cell(short_label(label_of(row.own[0])), notes.mark(*_fact_notes(row.record.facts)))


def _fact_notes(facts: Mapping[str, float | int | str | None]) -> list[str]:
    """What an implementation says of a case beside its figures; what it says nothing of is left out.

    A sentence for the host and every other target (`NAME on TARGET`), those that say the same in one.
    """
    said: dict[str, list[str]] = {}
    for name, value in facts.items():
        if value is not None:
            fact, _, target = name.partition(" on ")
            shown = value if isinstance(value, str) else f"{value:g}"
            said.setdefault(target or HOST, []).append(f"{fact.replace('_', ' ')}: {shown}")
    alike: dict[str, list[str]] = {}
    for target, words in said.items():
        alike.setdefault(", ".join(words), []).append(target)
    return [text if set(said) == {HOST} else f"on {', '.join(on)}: {text}" for text, on in alike.items()]


def time(row: CaseRow, notes: Footnotes) -> Cell:
    if row.time.value is None:
        return Cell(ABSENT)
    text, _ = fmt.seconds(row.time.value, row.time.low, row.time.high)
    why = f"no interval: {row.time.reason}" if row.time.low is None else None
    return Cell(text, notes.mark(why, *_reservations(row.own), *row.time.warnings))


def _reservations(own: Sequence[Record]) -> list[str]:
    timings = [record.timing for record in own if record.timing is not None]
    found: list[str] = []
    if any(timing.stopped == "budget" for timing in timings):
        found.append("stopped by its budget of time or rounds before the interval was narrow")
    if any(timing.stopped == "interrupted" for timing in timings):
        found.append("interrupted")
    discarded = sum(timing.discarded for timing in timings)
    if discarded:
        found.append(f"{discarded} sample{'s' if discarded > 1 else ''} discarded")
    return found


def interval(row: CaseRow, notes: Footnotes) -> Cell:
    del notes
    if row.time.value is None:
        return Cell(ABSENT)
    return Cell(fmt.seconds(row.time.value, row.time.low, row.time.high)[1])


def speedup(row: CaseRow, notes: Footnotes) -> Cell:
    found = row.compared
    if found is None:
        return Cell("baseline", style="dim")
    if found.speedup is None:
        if row.time.value is None or found.baseline is None:
            return Cell(ABSENT)
        reason = found.reason or "n/a"
        if len(reason) <= LONGEST_REASON:
            return Cell(reason, notes.mark(*found.notes))
        return Cell("n/a", notes.mark(reason, *found.notes))
    why = None
    if found.low is None and found.reason != row.time.reason:
        why = f"no interval: {found.reason}"
    new = [note for note in found.notes if note not in row.time.warnings]
    text = fmt.speedup(found.speedup, found.low, found.high)
    return Cell(text, notes.mark(why, *new), _speedup_style(found))


def per_step(row: CaseRow, _: Footnotes) -> Cell:
    """What the case saves in all calls of a model's step."""
    found = row.compared
    if found is None or found.per_step_s is None:
        return Cell("baseline" if found is None else ABSENT, style="dim" if found is None else "")
    text = fmt.saved(found.per_step_s, found.per_step_low_s, found.per_step_high_s)
    return Cell(text, style=_speedup_style(found))


def _speedup_style(found: Comparison) -> str:
    if found.low is None or found.high is None:
        return ""
    return "green" if found.low > 1 else "red" if found.high < 1 else ""


def contract(row: CaseRow, notes: Footnotes) -> Cell:
    del notes
    judged = row.record.correctness
    if judged is None:
        return Cell(ABSENT)
    shown = [f"{name} {_plain(value)}" for name, value in list(judged.figures.items())[:3]]
    return Cell(f"{judged.contract}: {', '.join(shown)}" if shown else judged.contract)


def _plain(value: float | str | None) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def figure(row: CaseRow, name: str, metric: Metric, notes: Footnotes, more: Sequence[str] = ()) -> Cell:
    if row.static is None:
        return Cell(ABSENT, notes.mark(*more))
    value = getattr(row.static, name)
    partial = BODY_ONLY if value is not None and body_only(row.static, name) else None
    return Cell(fmt.exact(value, metric), notes.mark(row.static.unavailable.get(name), partial, *more))


def temp(row: CaseRow, notes: Footnotes) -> Cell:
    return figure(row, "temp_bytes", TEMP_BYTES, notes, row.static.warnings if row.static else ())


def peak(row: CaseRow, notes: Footnotes) -> Cell:
    return figure(row, "peak_bytes", PEAK_BYTES, notes)


def flops(row: CaseRow, notes: Footnotes) -> Cell:
    return figure(row, "flops", FLOPS, notes)


def _ratio(row: CaseRow, name: str, value: float | None, notes: Footnotes) -> Cell:
    if row.compared is None or row.compared.baseline is None:
        return Cell("")
    if value is None:
        return Cell(ABSENT, notes.mark(row.compared.unavailable.get(name)) if row.static else ())
    return Cell(fmt.ratio(value))


def temp_ratio(row: CaseRow, notes: Footnotes) -> Cell:
    return _ratio(row, "temp_bytes", row.compared.temp_ratio if row.compared else None, notes)


def bytes_ratio(row: CaseRow, notes: Footnotes) -> Cell:
    return _ratio(row, "bytes_accessed", row.compared.bytes_ratio if row.compared else None, notes)


def flops_ratio(row: CaseRow, notes: Footnotes) -> Cell:
    return _ratio(row, "flops", row.compared.flops_ratio if row.compared else None, notes)


def status(row: CaseRow, notes: Footnotes) -> Cell:
    record = row.record
    judged = record.correctness
    failed = [other for other in row.own if other.status != record.status]
    some = (
        f"{len(failed)} of {len(row.own)} processes {failed[0].status}: {failed[0].reason}"
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
    sampled = judged is not None and judged.passed and judged.coverage == "rows"
    return Cell(
        f"{text} {len(row.own) - len(failed)}/{len(row.own)}" if failed else text,
        notes.mark(record.reason, "judged on sampled rows" if sampled else None, some),
        style,
    )
