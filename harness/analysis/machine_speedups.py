"""One comparison on several machines, with a separate interval for each; nothing is pooled."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from harness.analysis.compare import Comparison, comparisons
from harness.analysis.results import CaseRecords, SuiteRecords, representative
from harness.analysis.stats import DOUBTFUL, NO_INTERVAL, Estimate
from harness.core.grouped import grouped

OTHER_CODE = "its code differs from the newest run's, or was hashed differently"
DISTRUSTED = "unexpected correctness: a contract or check of one side failed"


@dataclass(frozen=True)
class MachineSpeedup:
    """A comparison in the newest run on one machine; `reason` says why it does not count.

    `source` has the hashes of both sides' code.
    """

    fingerprint: str
    facts: Mapping[str, Any]
    run: str
    compared: Comparison
    source: tuple[str, ...]
    reason: str | None

    @property
    def speedup(self) -> Estimate:
        compared = self.compared
        if self.reason is not None or compared.speedup is None:
            return Estimate(None, reason=self.reason or compared.reason)
        return Estimate(
            *(compared.speedup, compared.low, compared.high, compared.samples, compared.unit, compared.reason)
        )

    @property
    def verdict(self) -> str:
        """The verdict of the interval; NO_INTERVAL without one."""
        if self.reason is None and self.compared.doubtful:
            return DOUBTFUL
        return NO_INTERVAL if self.speedup.low is None else self.compared.verdict

    def to_json(self) -> dict[str, Any]:
        names = {"fingerprint": self.fingerprint, "run": self.run, "verdict": self.verdict}
        return {**names, **self.speedup._asdict()}


@dataclass(frozen=True)
class MachineSpeedups:
    """One comparison of an implementation with its suite's baseline at one point, by machine."""

    suite: str
    compared: Comparison  # of the newest run
    machines: tuple[MachineSpeedup, ...]

    @cached_property
    def verdicts(self) -> Mapping[str, int]:
        """Verdict → number of machines."""
        return Counter(machine.verdict for machine in self.machines)

    def to_json(self) -> dict[str, Any]:
        names = ("panel", "case", "implementation", "baseline", "seq", "other_semantics")
        point = {name: value for name, value in asdict(self.compared).items() if name in names}
        return {"suite": self.suite, **point, "machines": [machine.to_json() for machine in self.machines]}


def machine_speedups(suites: Iterable[SuiteRecords]) -> list[MachineSpeedups]:
    """Every comparison of the suites of several runs, by suite, panel and length.

    On each machine only the newest run counts, if its code equals that of the newest run of all.
    """
    points: dict[tuple[str, str, str | None], dict[str, MachineSpeedup]] = {}
    for suite in suites:
        for fingerprint, records in grouped(suite.records, lambda record: record.fingerprint).items():
            part = replace(suite, records=tuple(records))  # so that nothing is computed over two machines
            for found in _speedups(part, fingerprint):
                point = points.setdefault((suite.name, found.compared.case, found.compared.baseline), {})
                if fingerprint not in point or point[fingerprint].run < found.run:
                    point[fingerprint] = found
    found = [_by_machine(name, list(point.values())) for (name, _, _), point in points.items()]
    return sorted(found, key=lambda one: (one.suite, one.compared.panel, one.compared.seq))


def _speedups(suite: SuiteRecords, fingerprint: str) -> Iterator[MachineSpeedup]:
    """The comparisons with a baseline, without cases that were only compiled or checked."""
    facts = suite.fingerprints.get(fingerprint) or {}
    for compared in comparisons(suite):
        records = suite.by_case[compared.case]
        base = suite.baselines.get(records.group, CaseRecords())
        if base and all(record.timing or record.status != "ok" for record in (*records, *base)):
            source = tuple(representative(side).source for side in (records, base))
            reason = compared.reason if compared.speedup is None else None
            reason = DISTRUSTED if records.distrusted or base.distrusted else reason
            run = representative(records).run
            yield MachineSpeedup(fingerprint, facts, run, compared, source, reason)


def _by_machine(suite: str, machines: list[MachineSpeedup]) -> MachineSpeedups:
    """One comparison over its machines, oldest run first; only the newest run's code counts."""
    machines.sort(key=lambda machine: machine.run)
    newest = machines[-1]
    counted = (m if m.source == newest.source else replace(m, reason=OTHER_CODE) for m in machines)
    return MachineSpeedups(suite, newest.compared, tuple(counted))
