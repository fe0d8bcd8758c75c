"""A suite's results: its records with everything that tables, JSON and charts compute from them, once."""

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
from harness.analysis.scaling import Crossover, Scaling, crossovers, scalings
from harness.analysis.stats import Estimate, time_of
from harness.analysis.throughput import Throughput, throughputs
from harness.core.grouped import grouped
from harness.core.record import Record
from harness.core.remedy import Remedy, remedy_of
from harness.core.static_figures import Static


@dataclass(frozen=True)
class CaseResult:
    """A case with its replicates, its time, and its static figures and comparison on one target.

    `compared` is None for the baseline's own cases, `throughput` is by the work that it counts, and `roof` is
    None where no ceilings are known. `first` at the first case of a length in its panel.
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
        """The first replicate that is not ok, so that a failure shows beside a time."""
        return next((record for record in self.records if record.status != "ok"), None)

    @property
    def status(self) -> str:
        return self.failed.status if self.failed else "ok"

    @property
    def timed(self) -> bool:
        return self.record.timing is not None


@dataclass(frozen=True)
class SuiteResults(SuiteRecords):
    """The records of a suite and what follows from them; each property is computed when first read.

    `rooflines` are the machines' ceilings by the hash that records name, where these are asked for.
    """

    rooflines: Mapping[str, Roofline] = field(default_factory=dict[str, Roofline])

    comparisons = cached_property(comparisons)
    programs = cached_property(same_programs)
    compiled_targets = cached_property(targets)

    @classmethod
    def of(cls, suite: SuiteRecords) -> "SuiteResults":
        return cls(**{entry.name: getattr(suite, entry.name) for entry in fields(suite)})

    @cached_property
    def times(self) -> dict[str, Estimate]:
        """The time of every case, by its id."""
        return {case: time_of(records) for case, records in self.by_case.items()}

    @cached_property
    def scalings(self) -> list[Scaling]:
        return scalings(self, self.times)

    @cached_property
    def throughputs(self) -> list[Throughput]:
        return throughputs(self, self.times)

    @cached_property
    def roofs(self) -> dict[str, RoofShare]:
        """The share of the roof that binds every case, by its id; empty where no ceilings are known."""
        cases = self.by_case.items() if self.rooflines else ()
        return {case: case_share(representative(rs), self.times[case], self.rooflines) for case, rs in cases}

    @cached_property
    def crossovers(self) -> list[Crossover]:
        return crossovers(self, self.comparisons)

    @cached_property
    def lower_bounds(self) -> list[tuple[int, Comparison]]:
        return _lower_bounds(self, self.comparisons, self.scalings)

    @cached_property
    def cases(self) -> list[CaseResult]:
        """The cases on the host, by length, at each in the order of the suite's implementations."""
        return self.cases_on(HOST)

    @cached_property
    def bounds(self) -> dict[str, str]:
        """Label → the bound that the implementation's author states, where its semantics is the author's."""
        return {label_of(record): record.bound for record in self.records if record.bound}

    def cases_on(self, target: str) -> list[CaseResult]:
        """The cases with a target's figures."""
        compared = {c.case: c for c in (self.comparisons if target == HOST else comparisons(self, target))}
        rates = grouped(self.throughputs, lambda throughput: throughput.case)
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
                throughput={rate.work: rate for rate in rates[records[0].case]},
                first=place == 0 or groups[place - 1][0].seq != records[0].seq,
                roof=self.roofs.get(records[0].case),
            )
            for place, records in enumerate(groups)
        ]

    @cached_property
    def panels(self) -> "dict[str, SuiteResults]":
        """The results of each panel alone, in the order that the records have them."""
        members: dict[str, list[Record]] = {panel: [] for panel in self.by_panel}
        for record in self.records:
            members[self.by_case[record.case].panel].append(record)
        return {panel: self._narrow(records) for panel, records in members.items()}

    def _narrow(self, records: Iterable[Record]) -> "SuiteResults":
        """The results of all records of some cases, shortest first."""
        ordered = sorted(records, key=lambda record: (record.seq, record.replicate))
        narrowed = replace(self, records=tuple(ordered))
        # Shares the groups, so that what a case has computed serves the suite and its panel.
        cases = dict.fromkeys(record.case for record in ordered)
        vars(narrowed)["by_case"] = {case: self.by_case[case] for case in cases}
        return narrowed


def results_of(info: Mapping[str, Any], records: Sequence[Record]) -> list[SuiteResults]:
    """The results of every suite that run.json (`info`) describes."""
    rooflines = info.get("rooflines") or {}
    return [replace(SuiteResults.of(suite), rooflines=rooflines) for suite in by_suite(info, records)]


def _lower_bounds(
    suite: SuiteRecords, comparisons: Sequence[Comparison], scalings: Sequence[Scaling]
) -> list[tuple[int, Comparison]]:
    """(length, the comparison at a shorter one whose speedup bounds that there from below).

    One for each timed case whose baseline would have taken too long, where the lead is known to grow.

    The lead grows where the interval of the baseline's exponent lies above the other's. The bound is a
    speedup with an interval that was measured at a shorter length, so it is not extrapolated; the assumption
    behind it is that both times go on growing as before.
    """
    too_long = _groups_without_time(suite)
    exponents = {(s.panel, s.implementation): s for s in scalings if s.metric == "time"}
    bounds: list[tuple[int, Comparison]] = []
    for (panel, label), cases in series_of(comparisons).items():
        base, own = exponents.get((panel, suite.baseline)), exponents.get((panel, label))
        if base is None or own is None or base.low is None or own.high is None or base.low <= own.high:
            continue
        largest: Comparison | None = None
        for compared in cases:
            records = suite.by_case[compared.case]
            if largest and records.group in too_long and any(record.timing for record in records):
                bounds.append((compared.seq, largest))
            if compared.low is None or compared.same_program:
                continue
            if largest is None or largest.low is None or compared.low > largest.low:
                largest = compared
    return bounds


def _groups_without_time(suite: SuiteRecords) -> set[str]:
    """The groups whose baseline would have run, given the time: timed out, or predicted to take too long."""
    return {
        group
        for group, (record, *_) in suite.baselines.items()
        if record.status == "timeout" or (record.status, remedy_of(record)) == ("skipped", Remedy.MORE_BUDGET)
    }
