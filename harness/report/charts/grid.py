"""The suite as a chart needs it: panels with their titles, cases with their outcome."""

from dataclasses import dataclass

from harness.analysis.compare import Comparison, comparisons
from harness.analysis.results import SuiteRecords, by_case, label_of, panel_of, representative
from harness.core.record import Record


@dataclass(frozen=True)
class GridCell:
    """One case: the records of its replicates, where it stands and what became of it.

    `status` is the first that is not ok, so that a failed replicate shows beside a timed one.
    """

    label: str
    panel: str
    seq: int
    records: tuple[Record, ...]

    @property
    def case(self) -> str:
        return self.records[0].case

    @property
    def record(self) -> Record:
        return representative(self.records)

    @property
    def failed(self) -> Record | None:
        return next((record for record in self.records if record.status != "ok"), None)

    @property
    def status(self) -> str:
        return self.failed.status if self.failed else "ok"

    @property
    def timed(self) -> bool:
        return self.record.timing is not None


@dataclass(frozen=True)
class CaseGrid:
    """All cells of a suite and their comparisons; labels and panels in the order the suite has them."""

    suite: SuiteRecords
    labels: tuple[str, ...]
    panels: tuple[str, ...]
    cells: tuple[GridCell, ...]
    compared: tuple[Comparison, ...]

    @classmethod
    def of(cls, suite: SuiteRecords) -> "CaseGrid":
        cells = [
            GridCell(label_of(records[0]), panel_of(records[0]), records[0].seq, records)
            for records in by_case(suite.records).values()
        ]
        labels = list(dict.fromkeys([*suite.implementations, *(cell.label for cell in cells)]))
        panels = list(dict.fromkeys(cell.panel for cell in cells))
        cells.sort(key=lambda cell: (panels.index(cell.panel), labels.index(cell.label), cell.seq))
        return cls(suite, tuple(labels), tuple(panels), tuple(cells), tuple(comparisons(suite)))

    def at(self, panel: str, label: str | None = None) -> list[GridCell]:
        """The cells of a panel (and an implementation), shortest first."""
        return [c for c in self.cells if c.panel == panel and label in {None, c.label}]

    def lengths(self, panel: str) -> tuple[int, ...]:
        return tuple(sorted({cell.seq for cell in self.at(panel)}))

    def constants(self, *, ran: bool = True) -> str:
        """What all panels have in common: `fwd · on cpu · batch=1`; no device where nothing ran on it."""
        words = [_words(panel) for panel in self.panels]
        shared = [word for word in words[0] if all(word in other for other in words)]
        return " · ".join(word for word in shared if ran or not word.startswith("on "))

    def titles(self) -> dict[str, str]:
        """Panel → what sets it apart from the others; empty for the only panel."""
        words = {panel: _words(panel) for panel in self.panels}
        common = set.intersection(*(set(parts) for parts in words.values()))
        return {panel: " · ".join(w for w in parts if w not in common) for panel, parts in words.items()}


def _words(panel: str) -> list[str]:
    """`batch=1,dtype=f32:fwd:cpu` → `fwd`, `on cpu`, `batch=1`, `dtype=f32`."""
    point, mode, device = panel.rsplit(":", 2)
    return [mode, f"on {device}", *filter(None, point.split(","))]
