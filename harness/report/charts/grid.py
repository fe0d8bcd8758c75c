"""The cases of a suite arranged for charts: panels with their titles, cases with their outcomes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.case import split_setting
from harness.core.grouped import grouped
from harness.report.charts.model import Outcome
from harness.report.finding import PanelFinding, headline, panel_finding
from harness.report.format import status_words

DOES_NOT_FIT, NO_FIGURE, NO_RATIO, NOT_TIMED = "does not fit", "no figure", "no speedup", "not timed"


@dataclass(frozen=True)
class CaseGrid:
    """The cases of a suite, with labels and panels in the suite's order."""

    suite: SuiteResults
    labels: tuple[str, ...]
    panels: tuple[str, ...]
    cells: tuple[CaseResult, ...]

    @classmethod
    def of(cls, suite: SuiteResults) -> "CaseGrid":
        labels = list(dict.fromkeys([*suite.implementations, *suite.by_label]))
        panels = list(suite.panels)
        row = {panel: place for place, panel in enumerate(panels)}
        column = {label: place for place, label in enumerate(labels)}
        cells = sorted(suite.cases, key=lambda c: (row[c.panel], column[c.label], c.seq))
        return cls(suite, tuple(labels), tuple(panels), tuple(cells))

    @cached_property
    def headline(self) -> str | None:
        """The finding that all panels share; None if they differ or have nothing to compare."""
        known = [finding for finding in self._findings.values() if finding is not None]
        return headline(known) if len(known) == len(self._findings) else None

    @cached_property
    def _findings(self) -> dict[str, PanelFinding | None]:
        return {panel: panel_finding(results) for panel, results in self.suite.panels.items()}

    @cached_property
    def timed_titles(self) -> dict[str, str]:
        """The panels' titles, each with its own finding if they have none in common."""
        if self.headline is not None:
            return self.titles
        sentences = {panel: finding.sentence() for panel, finding in self._findings.items() if finding}
        return {
            panel: ": ".join(filter(None, (title, sentences.get(panel))))
            for panel, title in self.titles.items()
        }

    def at(self, panel: str, label: str | None = None) -> list[CaseResult]:
        """The cells of a panel (and an implementation), shortest length first."""
        return self._panels.get(panel, []) if label is None else self._series.get((panel, label), [])

    @cached_property
    def _panels(self) -> dict[str, list[CaseResult]]:
        return grouped(self.cells, lambda cell: cell.panel)

    @cached_property
    def _series(self) -> dict[tuple[str, str], list[CaseResult]]:
        return grouped(self.cells, lambda cell: (cell.panel, cell.label))

    def lengths(self, panel: str) -> tuple[int, ...]:
        return tuple(sorted({cell.seq for cell in self.at(panel)}))

    def constants(self, *, ran: bool = True) -> str:
        """What all panels have in common: `fwd · on cpu · batch=1`; without the device if nothing ran."""
        words = [panel_words(panel) for panel in self.panels]
        shared = [word for word in words[0] if all(word in other for other in words)]
        return " · ".join(word for word in shared if ran or not word.startswith("on "))

    @cached_property
    def titles(self) -> dict[str, str]:
        """Panel → how it differs from the others; empty for the only panel."""
        return {panel: title for (_, panel), title in panel_titles([("", p) for p in self.panels]).items()}

    def title(self, panel: str, part: str) -> str:
        """`bwd · tpu:v5p`: the panel's title and an addition."""
        return " · ".join(filter(None, (self.titles[panel], part)))


def panel_titles(panels: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """(family, panel) → a title: the family if there are several, and what not all panels share."""
    words = {key: panel_words(key[1]) for key in panels}
    several = len({family for family, _ in panels}) > 1
    titles: dict[tuple[str, str], str] = {}
    for (family, panel), parts in words.items():
        common = set.intersection(*(set(words[key]) for key in panels if key[0] == family))
        titles[family, panel] = " · ".join([*[family] * several, *(w for w in parts if w not in common)])
    return titles


def panel_words(panel: str) -> list[str]:
    """`batch=1,dtype=f32:fwd:cpu` → `fwd`, `on cpu`, `batch=1`, `dtype=f32`."""
    point, mode, device = split_setting(panel)
    return [mode, f"on {device}", *filter(None, point.split(","))]


def failures(cells: Iterable[CaseResult]) -> list[Outcome]:
    """The outcomes of the cases that are not ok."""
    return [Outcome(cell.label, cell.seq, status_words(cell.status)) for cell in cells if cell.failed]
