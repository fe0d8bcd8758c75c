"""Reproductions: one comparison on several machines, each with an interval of its own; nothing is pooled.

Machines differ, so that a test for equal speedups (Cochran's Q) fails as soon as the intervals are narrow.
What is to be reproduced is a conclusion. Machines agree where their verdicts are the same, and where their
intervals do not show that the speedups differ by more than a quarter: a minimum-effect test, with the margin
by which drugs are called equivalent (80 to 125 %).
"""

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from harness.analysis.compare import Comparison, comparisons
from harness.analysis.results import CaseRecords, SuiteRecords, representative
from harness.analysis.stats import DOUBTFUL, FASTER, NO_INTERVAL, SAME, SLOWER, Estimate, read_interval
from harness.core.fingerprint_identity import CACHES, accelerator_name, cache_texts, fingerprint_differences
from harness.core.grouped import grouped

ALIKE_UP_TO = 1.25  # the quotient of two speedups
BY_RUN = "runs"  # the unit of a machine's estimate
# The facts of the hardware: fingerprints that differ in others may be of one machine, after an update, say.
HARDWARE = ("device", "cpu", "cpu_flags", "cores", "memory_gib")
OTHER_CODE = "its code differs from that of the newest run, or was hashed in another way"
DISTRUSTED = "a side is not as registered: its contract or a check failed"


@dataclass(frozen=True)
class Replication:
    """A comparison as one run has it; `reason` says why it does not count, None where it does.

    `source` are the hashes of both sides' code.
    """

    run: str
    compared: Comparison
    source: tuple[str, ...]
    reason: str | None


@dataclass(frozen=True)
class MachineRatio:
    """The replications of a comparison on one machine: the runs of one fingerprint, oldest first.

    Fingerprints of one hash are of two machines where their caches have different sizes.
    """

    fingerprint: str
    facts: Mapping[str, Any]
    replications: tuple[Replication, ...]

    @cached_property
    def speedup(self) -> Estimate:
        """The runs' geometric mean, between the lowest and the highest end of all their intervals.

        Of one run these are its own. Runs without an interval count where none has one.
        """
        counted = [r.compared for r in self.replications if r.reason is None]
        values = [(c.speedup, c.low, c.high) for c in counted if c.speedup is not None]
        bounded = [(v, low, high) for v, low, high in values if low is not None and high is not None]
        if not values:
            return Estimate(None, reason=self.replications[-1].reason)
        mean = statistics.geometric_mean([entry[0] for entry in bounded or values])
        if not bounded:
            return Estimate(mean, None, None, len(values), BY_RUN, counted[-1].reason or NO_INTERVAL)
        low, high = min(entry[1] for entry in bounded), max(entry[2] for entry in bounded)
        return Estimate(mean, low, high, len(bounded), BY_RUN)

    @cached_property
    def verdict(self) -> str:
        """FASTER, SLOWER, SAME, UNDECIDED, DOUBTFUL or NO_INTERVAL; with the baseline's own program SAME."""
        if any(r.compared.doubtful for r in self.replications if r.reason is None):
            return DOUBTFUL
        if self.speedup.low is None:
            return NO_INTERVAL
        if any(r.compared.same_program for r in self.replications):
            return SAME
        return read_interval(self.speedup.inverse)

    @property
    def caches(self) -> str:
        """Equal for machines whose caches are; empty where their sizes are not known."""
        return _caches(self.facts)

    @property
    def decided(self) -> bool:
        return self.verdict in {FASTER, SLOWER, SAME}

    @property
    def hardware(self) -> str:
        """Equal for fingerprints that may be of one machine; those that were not kept count as one."""
        facts = {name: self.facts.get(name) for name in HARDWARE}
        return json.dumps([facts, accelerator_name(self.facts)], sort_keys=True)

    def reaches(self, speedup: float) -> bool:
        """Whether its interval begins at this speedup or below, and ends a fifth below it or above."""
        _, low, high = self.speedup[:3]
        return low is not None and high is not None and low <= speedup <= high * ALIKE_UP_TO


@dataclass(frozen=True)
class Reproduction:
    """One comparison, of an implementation with the baseline of its suite at one point, on all machines.

    `other_semantics`: its result means something else than the baseline's.
    """

    suite: str
    panel: str
    case: str
    implementation: str
    baseline: str
    seq: int
    other_semantics: bool
    machines: tuple[MachineRatio, ...]

    @cached_property
    def agreeing(self) -> tuple[MachineRatio, ...]:
        """Most of the machines that have a verdict, where these agree with each other; else empty.

        Intervals that overlap in pairs have a point in common (Helly's theorem): the lower end of one.
        Of several sets as large, it is the one whose speedups are closest together.
        """
        decided = [machine for machine in self.machines if machine.decided]
        sets = [
            tuple(m for m in decided if m.verdict == first.verdict and m.reaches(first.speedup.low or 0.0))
            for first in decided
        ]
        best = max(sets, key=lambda members: (len(members), -_spread(members)), default=())
        return best if 2 * len(best) > len(decided) else ()

    @property
    def independent(self) -> int:
        """How many kinds of hardware agree."""
        return kinds(self.agreeing)

    def sets_apart(self, machine: MachineRatio) -> tuple[str, ...]:
        """The facts in which a machine differs from all that agree; where none agree, from all others."""
        others = [other for other in self.agreeing or self.machines if other is not machine]
        unlike = [
            {name for name, _, _ in fingerprint_differences(other.facts, machine.facts)} for other in others
        ]
        return tuple(sorted(set[str].intersection(*unlike))) if unlike else ()

    def to_json(self) -> dict[str, Any]:
        """Plain data: how many machines agree, and what each says, run by run."""
        counts = {"agree": len(self.agreeing), "of": len(self.machines), "independent": self.independent}
        point = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**point, **counts, "machines": [self._machine_data(machine) for machine in self.machines]}

    def _machine_data(self, machine: MachineRatio) -> dict[str, Any]:
        names = ("speedup", "low", "high", "unit", "samples", "reason")
        runs = [
            {"run": r.run, "left_out": r.reason, **{name: getattr(r.compared, name) for name in names}}
            for r in machine.replications
        ]
        agrees = machine in self.agreeing
        unlike = () if agrees else self.sets_apart(machine)
        named = {"fingerprint": machine.fingerprint, CACHES: machine.facts.get(CACHES)}
        said = {"verdict": machine.verdict, "agrees": agrees, "differs_in": unlike, "runs": runs}
        return {**named, **machine.speedup._asdict(), **said}


def kinds(machines: Iterable[MachineRatio]) -> int:
    """How many kinds of hardware the machines are; caches of unknown size do not make another kind."""
    sizes: dict[str, set[str]] = {}
    for machine in machines:
        sizes.setdefault(machine.hardware, set()).add(machine.caches)
    return sum(max(1, len(known - {""})) for known in sizes.values())


def reproductions(suites: Iterable[SuiteRecords]) -> list[Reproduction]:
    """Every comparison of the suites of several runs, by suite, panel and length.

    A record that two of the runs hold, as a joined run and its shard do, counts once: by the run that it was
    measured in. Where the code differs, that of the newest run is the one that counts.
    """
    known: dict[str, dict[str, Mapping[str, Any]]] = {}  # fingerprint → its facts by the sizes of caches
    replicated: list[tuple[str, str, str, Replication]] = []
    for suite in suites:
        for fingerprint, records in grouped(suite.records, lambda record: record.fingerprint).items():
            facts = suite.fingerprints.get(fingerprint) or {}
            known.setdefault(fingerprint, {})[_caches(facts)] = facts
            alone = replace(suite, records=tuple(records))  # so that nothing is computed over two machines
            replicated += [(suite.name, fingerprint, _caches(facts), r) for r in _replications(alone)]
    points: dict[tuple[str, str, str | None], dict[tuple[str, str], dict[str, Replication]]] = {}
    for suite_name, fingerprint, caches, replication in replicated:
        # Facts without caches belong to the only machine that gives some; with several nobody knows to which.
        sizes = [texts for texts in known[fingerprint] if texts]
        machine = fingerprint, sizes[0] if not caches and len(sizes) == 1 else caches
        compared = replication.compared
        point = points.setdefault((suite_name, compared.case, compared.baseline), {})
        point.setdefault(machine, {})[replication.run] = replication
    found = [_reproduction(name, runs, known) for (name, _, _), runs in points.items()]
    return sorted(found, key=lambda r: (r.suite, r.panel, r.seq))


def _caches(facts: Mapping[str, Any]) -> str:
    texts = cache_texts(facts)
    return json.dumps(texts, sort_keys=True) if texts else ""


def _replications(suite: SuiteRecords) -> Iterator[Replication]:
    """The comparisons with a baseline; those that were only compiled or judged are left out."""
    for compared in comparisons(suite):
        records = suite.by_case[compared.case]
        base = suite.baselines.get(records.group, CaseRecords())
        if base and all(record.timing or record.status != "ok" for record in (*records, *base)):
            source = tuple(representative(side).source for side in (records, base))
            reason = compared.reason if compared.speedup is None else None
            reason = DISTRUSTED if records.distrusted or base.distrusted else reason
            yield Replication(representative(records).run, compared, source, reason)


def _reproduction(
    suite: str,
    by_machine: Mapping[tuple[str, str], Mapping[str, Replication]],
    known: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> Reproduction:
    """One comparison over its machines; runs of other code than the newest run's do not count."""
    newest = max((r for runs in by_machine.values() for r in runs.values()), key=lambda r: r.run)
    machines: list[MachineRatio] = []
    for (fingerprint, caches), by_run in by_machine.items():
        runs = [r if r.source == newest.source else replace(r, reason=OTHER_CODE) for r in by_run.values()]
        runs.sort(key=lambda replication: replication.run)
        machines.append(MachineRatio(fingerprint, known[fingerprint][caches], tuple(runs)))
    last = newest.compared
    ordered = tuple(sorted(machines, key=lambda machine: machine.replications[0].run))
    point = last.panel, last.case, last.implementation, last.baseline or "", last.seq
    return Reproduction(suite, *point, last.other_semantics, ordered)


def _spread(machines: Sequence[MachineRatio]) -> float:
    values = [machine.speedup.value or 1.0 for machine in machines]
    return max(values) / min(values)
