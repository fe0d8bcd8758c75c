"""The chart of a case's history: the time of one call, run after run."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.analysis.history import CaseHistory
from harness.report.charts.drawing.page import Sheet, draw_page
from harness.report.charts.drawing.scales import TIME
from harness.report.charts.drawing.style import looks, style
from harness.report.charts.grid import panel_words
from harness.report.charts.image import to_svg
from harness.report.charts.model import Chart, Outcome, Panel, Series, points
from harness.report.charts.notes import interval_notes
from harness.report.format import short_label, status_words
from harness.report.provenance import machine_label
from harness.report.tables.history import history_lines

MOST = 100  # runs that a page has room for
GATE = "gate"  # the row of the outcome strip in which verdicts stand


def draw_history(histories: Sequence[CaseHistory], info: Mapping[str, Any]) -> bytes:
    """A panel per case, over the same runs, as the bytes of an SVG; `info` has the fingerprints' facts."""
    started = {m.run: m.started for history in histories for m in history.medians}
    runs = sorted(started)[-MOST:]
    names = tuple(f"{started[run][5:10]}\n{started[run][11:16]}" for run in runs)
    subject = short_label(histories[0].label) if len(histories) == 1 else f"{len(histories)} cases"
    left = len(started) - len(runs)
    words = {history.case: _words(history.case) for history in histories}
    common = [word for word in words[histories[0].case] if all(word in case for case in words.values())]
    chart = Chart(
        question="How long does one call take, in every run on one machine?",
        finding=f"{subject}, run after run: a trend, not a verdict",
        scale=TIME,
        y_label="time per call (median)",
        empty="nothing was timed",
        panels=tuple(
            _panel(" · ".join(w for w in words[history.case] if w not in common), history, runs, names)
            for history in histories
        ),
        notes=(
            *interval_notes(median.time for history in histories for median in history.medians),
            *dict.fromkeys(line for history in histories for line in history_lines(history)),
            *([f"a {GATE}'s verdict stands at the last run before it"] if _have_verdicts(histories) else []),
            *([f"{left} earlier runs are left out"] if left else []),
        ),
        x_label="run, by its time (UTC)",
    )
    machines = dict.fromkeys(machine_label(history.fingerprint, info) for history in histories)
    labels = [*dict.fromkeys(history.label for history in histories), *[GATE] * _have_verdicts(histories)]
    sheet = Sheet(None, " · ".join(common), f"fingerprint {', '.join(machines)}", "")
    with style():
        return to_svg(chart, draw_page(chart, sheet, looks(labels, "")))


def _have_verdicts(histories: Sequence[CaseHistory]) -> bool:
    return any(history.verdicts for history in histories)


def _words(case: str) -> list[str]:
    """`mask/scatter@seq=64:fwd:cpu` → `scatter`, `fwd`, `on cpu`, `seq=64`."""
    label, _, panel = case.partition("@")
    return [short_label(label), *panel_words(panel)]


def _panel(title: str, history: CaseHistory, runs: Sequence[str], names: tuple[str, ...]) -> Panel:
    places = {run: 2**place for place, run in enumerate(runs)}
    shown = [median for median in history.medians if median.run in places]
    failed = [
        Outcome(history.label, places[m.run], status_words(m.status)) for m in shown if m.time.value is None
    ]
    verdicts: dict[int, dict[str, None]] = {}
    for verdict in history.verdicts:
        before = [run for run in runs if run <= verdict.gate] or runs[:1]
        verdicts.setdefault(places[before[-1]], {})[verdict.verdict] = None
    judged = [Outcome(GATE, place, ", ".join(words)) for place, words in verdicts.items()]
    series = Series(history.label, points((places[median.run], median.time) for median in shown))
    return Panel(title, tuple(places.values()), (series,), (*failed, *judged), names=names)
