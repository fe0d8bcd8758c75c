"""HTML page of a findings document, with details of each case."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import cast

from harness.analysis.results import HOST
from harness.analysis.same_program import same_kind
from harness.analysis.stats import interval_verdict, ratio
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.record import Record, Timing
from harness.core.shown_text import escape_html
from harness.core.units import FLOPS, TEMP_BYTES, format_count, format_seconds
from harness.findings.document import Document, FindingsTable
from harness.findings.findings_run import FindingsRun
from harness.report import format as fmt
from harness.report.format import exact_figure, short_label
from harness.report.templates import fill

BUNDLE = "html/dt_bundle.js"  # in itables, which is not imported, because only its script is needed
MISSING = "written without sorting and filtering; to add them, pip install 'seqsweep[html]' (itables)"


def datatables() -> str | None:
    """Script of DataTables; None if itables is not installed."""
    spec = find_spec("itables")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / BUNDLE
    return file.read_text(encoding="utf-8") if file.is_file() else None


def script_data(bundle: str) -> str:
    """Escape the bundle for a script element, where `</script` and `<!--` are special.

    A backslash before the second character does not change JavaScript's strings.
    """
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


VERDICTS = {True: "passed", False: "failed", None: "a property"}


def replicate_lines(record: Record) -> list[str]:
    """Lines on one process: outcome, contract, checks and timing."""
    lines = [f"{record.status}: {record.reason}"] if record.reason else []
    judged, timing = record.correctness, record.timing
    if judged is not None:
        found = f"{VERDICTS[judged.passed]}, {fmt.figures(judged.figures)}, {judged.coverage}"
        lines.append(f"contract {judged.contract}: {found}")
    lines += [
        f"check {check.check}: {VERDICTS[check.passed]}, {fmt.figures(check.figures)} {check.reason}"
        for check in record.checks
    ]
    if timing is not None:
        taken = f"{timing.inner} calls per sample, ended by {timing.stopped}, {timing.discarded} discarded"
        lines += [f"{timing.method}, inputs {timing.cache}, {taken}", *timing.warnings]
    return lines


def case_ratios(panel: SuiteResults, row: CaseResult) -> Iterator[Mapping[str, str]]:
    """Ratios of a case to every other implementation at its length, from the rounds that both have."""
    for other in panel.cases:
        if other.seq != row.seq or other.label == row.label:
            continue
        found = ratio(row.records, other.records)
        if found.value is not None:
            kind = same_kind(row.records, other.records, target=HOST)
            meaning = f"{interval_verdict(found)}{f', the same {kind}' if kind else ''}"
            text = fmt.speedup(found.value, found.low, found.high)
            yield {"label": other.label, "value": f"{found.value:.6g}", "text": text, "meaning": meaning}


def origin_lines(run: FindingsRun, record: Record) -> list[str]:
    """Lines on a record's origin: run, code, machine, and the machine's state."""
    machine = (run.info.get("fingerprints") or {}).get(record.fingerprint) or {}
    known = {**machine, **run.environments.get(record.environment or "", {})}
    hashes = {name: getattr(record, name) for name in ("source", "fingerprint", "environment")}
    return [
        f"run {record.run}, started {record.started}, {record.wall_s:.1f} s in total",
        *(f"{name}: {value or 'unknown'}" for name, value in hashes.items()),
        *(f"{name}: {_plain(value)}" for name, value in known.items()),
    ]


def _plain(value: object) -> str:
    """Fact of a machine as text; nested facts are in one line."""
    inner = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
    return ", ".join(f"{name} {_plain(part)}" for name, part in inner.items()) or str(value)


FOLDER = Path(__file__).parent
# Sort keys by column, for columns that are not sorted by their text.
SORT_KEYS: Mapping[str, Callable[[CaseResult], float | None]] = {
    "seq": lambda row: row.seq,
    "time": lambda row: row.time.value,
    "95 %": lambda row: row.time.low,
    "speedup": lambda row: row.compared.speedup if row.compared else 1.0,
    "temp": lambda row: row.static.temp_bytes if row.static else None,
}
_REFERENCE = re.compile(r'(url\(#|href="#)([^)"]+)')
WIDTH, HEIGHT, ROOM = 600, 48, 6  # of the strip, in SVG units; margin at its edges
LEGEND = "first sample on top; line: median; band: its 95 % interval"


@dataclass(frozen=True)
class BackedCase:
    """A case with its panel and its run."""

    run: FindingsRun
    panel: SuiteResults
    row: CaseResult


def to_html(document: Document, runs: Sequence[FindingsRun], title: str, bundle: str | None) -> str:
    """Format a document on these runs as HTML. `bundle` is the script that sorts, or None."""
    cases = [BackedCase(run, panel, row) for run in runs for panel in run.panels for row in panel.cases]
    named = {case.run.name_records(case.row.records): case for case in cases}
    backed = {name: case for name, case in named.items() if name}
    shown: set[str] = set()

    def cases_of(table: FindingsTable) -> dict[str, BackedCase]:
        """Cases in a table's rows, by the record hashes in the last column."""
        return {row[-1].text: backed[row[-1].text] for row in table.rows if row[-1].text in backed}

    def first_shown(names: Sequence[str]) -> list[str]:
        """Names that are not in the page yet, because a case of two suites is in two tables."""
        fresh = [name for name in names if name not in shown]
        shown.update(fresh)
        return fresh

    return fill(
        FOLDER / "page.html.j2",
        escape_html,
        document=document,
        title=title,
        backed=backed,
        cases_of=cases_of,
        first_shown=first_shown,
        number=count(1).__next__,
        style=(FOLDER / "page.css").read_text(encoding="utf-8"),
        script=(FOLDER / "page.js").read_text(encoding="utf-8"),
        bundle=script_data(bundle or ""),
        anchor=_anchor,
        sort_key=_sort_key,
        inline_svg=inline_svg,
        sample_strip=sample_strip,
        origin_lines=origin_lines,
        case_ratios=case_ratios,
        replicate_lines=replicate_lines,
        exact_figure=exact_figure,
        format_count=format_count,
        short_label=short_label,
        FLOPS=FLOPS,
        TEMP_BYTES=TEMP_BYTES,
    )


def _anchor(records: str) -> str:
    return f"case-{records.replace(' ', '-')}"


def _sort_key(column: str, row: CaseResult) -> str | None:
    """Sort key of a cell, empty without a value; None for a column sorted by its text."""
    if column not in SORT_KEYS:
        return None
    value = SORT_KEYS[column](row)
    return "" if value is None else f"{value:.9g}"


def inline_svg(svg: bytes, label: str, prefix: str) -> str:
    """Only the `<svg>` element, with `label` for screen readers.

    Ids that it uses get the prefix, because a page has several charts. Other ids are removed.
    """
    text = svg.decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    used = {match[2] for match in _REFERENCE.finditer(text)}

    def rename(match: re.Match[str]) -> str:
        return f' id="{prefix}{match[1]}"' if match[1] in used else ""

    text = _REFERENCE.sub(rf"\g<1>{prefix}\g<2>", re.sub(r' id="([^"]+)"', rename, text))
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape_html(label)}" ', 1)


def sample_strip(timing: Timing) -> str:
    """Strip plot as SVG: a dot per sample, by its time from left to right, in order from top to bottom.

    It contains only numbers, so nothing is escaped.
    """
    low, high = min(timing.samples_s), max(timing.samples_s)
    steps = max(len(timing.samples_s) - 1, 1)

    def across(seconds: float) -> float:
        return ROOM + (WIDTH - 2 * ROOM) * ((seconds - low) / (high - low) if high > low else 0.5)

    places = ((across(s), ROOM + (HEIGHT - 2 * ROOM) * n / steps) for n, s in enumerate(timing.samples_s))
    dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
    band = ""
    if timing.low_s is not None and timing.high_s is not None:
        left, right = across(timing.low_s), across(timing.high_s)
        width = max(right - left, 1)
        band = f'<rect x="{left:.1f}" y="0" width="{width:.1f}" height="{HEIGHT}"></rect>'
    median = f'<path class="median" d="M{across(timing.median_s):.1f} 0v{HEIGHT}"></path>'
    span = f"{format_seconds(low)} to {format_seconds(high)}"
    label = f"{len(timing.samples_s)} samples in {len(set(timing.round))} rounds, {span}"
    head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
    return (
        f'<figure class="strip">{head}{band}{median}<path class="dots" d="{dots}"></path></svg>'
        f"<figcaption>{label}; {LEGEND}</figcaption></figure>"
    )
