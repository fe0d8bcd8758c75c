"""A suite's results: its records and everything that tables, JSON and charts need from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from harness.analysis.compare import Comparison, comparisons, series_of
from harness.analysis.results import (
    HOST,
    CaseRecords,
    SuiteRecords,
    by_suite,
    label_of,
    representative,
    static_of,
    targets,
)
from harness.analysis.roofline import Roofline, RoofShare, case_share
from harness.analysis.same_program import same_programs
from harness.analysis.scaling import Crossover, Scaling, crossover, scalings
from harness.analysis.stats import Estimate, time_of
from harness.analysis.throughput import Throughput, throughputs
from harness.core.record import Record
from harness.core.static_figures import Static


@dataclass(frozen=True)
class CaseResult:
    """A case with its replicates, its time, and its static figures and comparison on one target.

    `compared` is None for the baseline's cases, `throughput` is by kind of work, and `roof` is None without
    known ceilings. `first` marks the first case of a length in its panel.
    """

    records: CaseRecords
    time: Estimate
    static: Static | None
    compared: Comparison | None
    throughput: Mapping[str, Throughput]
    first: bool
    roof: RoofShare | None = None

    @property
    def case(self) -> str:
        return self.records[0].case

    @property
    def label(self) -> str:
        return self.records.label

    @property
    def panel(self) -> str:
        return self.records.panel

    @property
    def seq(self) -> int:
        return self.records[0].seq

    @cached_property
    def record(self) -> Record:
        return representative(self.records)

    @cached_property
    def failed(self) -> Record | None:
        """The first replicate that is not ok, so that a failure is shown even with a time."""
        return next((record for record in self.records if record.status != "ok"), None)

    @property
    def status(self) -> str:
        return self.failed.status if self.failed else "ok"

    @property
    def share(self) -> float:
        """The share of its bound; 0 if that is unknown."""
        return (self.roof and self.roof.share.value) or 0.0

    @property
    def timed(self) -> bool:
        return self.record.timing is not None


@dataclass(frozen=True)
class SuiteResults(SuiteRecords):
    """The records of a suite and everything computed from them, each property on first use.

    `rooflines` are the machines' measured ceilings by fingerprint.
    """

    rooflines: Mapping[str, Roofline] = field(default_factory=dict[str, Roofline])

    comparisons = cached_property(comparisons)
    programs = cached_property(same_programs)
    compiled_targets = cached_property(targets)

    @classmethod
    def of(cls, suite: SuiteRecords) -> "SuiteResults":
        return cls(**{entry.name: getattr(suite, entry.name) for entry in fields(suite)})

    @cached_property
    def series(self) -> dict[tuple[str, str], list[Comparison]]:
        """(panel, implementation) → its comparisons, shortest length first."""
        return series_of(self.comparisons)

    @cached_property
    def times(self) -> dict[str, Estimate]:
        """Case id → time."""
        return {case: time_of(records) for case, records in self.by_case.items()}

    @cached_property
    def scalings(self) -> list[Scaling]:
        return scalings(self, self.times)

    @cached_property
    def throughputs(self) -> dict[str, Mapping[str, Throughput]]:
        """Case id → throughputs."""
        return {case: throughputs(rs, self.times[case]) for case, rs in self.by_case.items()}

    @cached_property
    def roofs(self) -> dict[str, RoofShare]:
        """Case id → share of its limiting roof; on devices other than GPUs only with measured ceilings."""
        return {
            case: case_share(representative(rs), self.times[case], self.rooflines, self.fingerprints)
            for case, rs in self.by_case.items()
            if self.rooflines or rs[0].device == "cuda"
        }

    @cached_property
    def crossovers(self) -> list[Crossover]:
        """One per panel and implementation other than the baseline; empty without a baseline."""
        keys = ((panel, label) for panel in self.by_panel for label in self.implementations if self.baseline)
        return [crossover(self.series[key]) for key in keys if key in self.series]

    @cached_property
    def cases(self) -> list[CaseResult]:
        """The cases on the host, by length, then in the order of the suite's implementations."""
        return self.cases_on(HOST)

    @cached_property
    def bounds(self) -> dict[str, str]:
        """Label → the bound stated by the implementation's author, for semantics that the author defines."""
        return {label_of(record): record.bound for record in self.records if record.bound}

    def cases_on(self, target: str) -> list[CaseResult]:
        """The cases with a target's figures."""
        compared = {c.case: c for c in (self.comparisons if target == HOST else comparisons(self, target))}
        order = {label: place for place, label in enumerate(self.implementations)}
        groups = sorted(
            self.by_case.values(), key=lambda case: (case[0].seq, order.get(case.label, len(order)))
        )
        return [
            CaseResult(
                records=records,
                time=self.times[records[0].case],
                static=static_of(records, target),
                compared=compared.get(records[0].case),
                throughput=self.throughputs[records[0].case],
                first=place == 0 or groups[place - 1][0].seq != records[0].seq,
                roof=self.roofs.get(records[0].case),
            )
            for place, records in enumerate(groups)
        ]

    @cached_property
    def panels(self) -> "dict[str, SuiteResults]":
        """The results of each panel, in the order of the records."""
        members: dict[str, list[Record]] = {panel: [] for panel in self.by_panel}
        for record in self.records:
            members[self.by_case[record.case].panel].append(record)
        return {panel: self._narrow(records) for panel, records in members.items()}

    def _narrow(self, records: Iterable[Record]) -> "SuiteResults":
        """The results of these records, shortest length first."""
        ordered = sorted(records, key=lambda record: (record.seq, record.replicate))
        narrowed = replace(self, records=tuple(ordered))
        # The groups are shared, so that cached properties of cases serve the suite and its panels.
        cases = dict.fromkeys(record.case for record in ordered)
        vars(narrowed)["by_case"] = {case: self.by_case[case] for case in cases}
        return narrowed


def results_of(info: Mapping[str, Any], records: Sequence[Record]) -> list[SuiteResults]:
    """The results of every suite in run.json (`info`)."""
    rooflines = info.get("rooflines") or {}
    return [replace(SuiteResults.of(suite), rooflines=rooflines) for suite in by_suite(info, records)]
