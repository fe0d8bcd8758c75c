"""Records grouped by suite, by panel (all but the length) and by case."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from harness.core.case import label
from harness.core.grouped import grouped
from harness.core.record import Record
from harness.core.static_figures import Static

HOST = "host"
COUNTED = ("flops", "bytes_accessed")  # figures that multiply a loop's body by its trip count
BODY_ONLY = "loop body counted once, because its trip count is unknown"


class CaseRecords(tuple[Record, ...]):  # noqa: SLOT001 - cached properties need a __dict__
    """The replicates of one case, in order, with cached properties."""

    @cached_property
    def label(self) -> str:
        return label_of(self[0])

    @cached_property
    def group(self) -> str:
        return group_of(self[0])

    @cached_property
    def panel(self) -> str:
        return panel_of(self[0])

    @cached_property
    def unexpected(self) -> bool:
        return any(record.unexpected for record in self)

    @cached_property
    def distrusted(self) -> bool:
        """Whether its time must not count: a replicate is incorrect, or unexpectedly correct."""
        return self.unexpected or any(record.status == "incorrect" for record in self)

    @property
    def point(self) -> dict[str, Any]:
        """The fields that identify the case in every figure."""
        return {"case": self[0].case, "implementation": self.label, "panel": self.panel, "seq": self[0].seq}


@dataclass(frozen=True)
class StepModel:
    """A model that defines a suite's fields; `layers` is the number of calls in one of its steps.

    One element of a length means `tokens` of the model's context. `source` is the origin of the publisher's
    fields, with the SHA-256 of that file and of the preset made from it. `note` says how the cases differ
    from the model's calls.
    """

    label: str
    layers: int
    tokens: int
    cases: frozenset[str]
    source: Mapping[str, str]
    note: str = ""
    longest: int | None = None  # the model's longest context, by its positions

    @property
    def origin(self) -> str:
        """Repository, commit, file and shortened file hash of the publisher's fields."""
        file = self.source["path"].rpartition("/")[2]
        return (
            f"{self.source['repo']}@{self.source['commit'][:7]}, {file}, sha256 {self.source['sha256'][:12]}"
        )

    @property
    def whole_origin(self) -> str:
        """`repo@commit:path` and both hashes; older runs have only the first hash."""
        hashes = {name: self.source[name] for name in ("sha256", "preset") if name in self.source}
        where = "{repo}@{commit}:{path}".format(**self.source)
        return " ".join((where, *(f"{name}={digest}" for name, digest in hashes.items())))

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> "StepModel":
        """The model described in run.json."""
        values: dict[str, Any] = {f.name: described[f.name] for f in fields(cls) if f.name in described}
        values["cases"] = frozenset(described["cases"])
        return cls(**values)


@dataclass(frozen=True)
class SuiteRecords:
    """The records of one suite. `baseline` and `implementations` are labels, options included.

    `baseline` is empty if the suite has none. A case that several suites share is in each. `layers` is the
    number of calls in a model's step, if the suite sets it; otherwise its `models` do. `targets` are those
    requested, in that order. `fingerprints` are the facts of machines, by the hash in the records. Cases that
    differ only in the field `interleaved` also share their rounds.
    """

    name: str
    family: str
    baseline: str
    implementations: tuple[str, ...]
    records: tuple[Record, ...]
    layers: int | None = None
    targets: tuple[str, ...] = ()
    fingerprints: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    models: tuple[StepModel, ...] = ()
    interleaved: str = ""

    @property
    def models_here(self) -> list[StepModel]:
        """The models of any of these records."""
        return [model for model in self.models if not model.cases.isdisjoint(self.by_case)]

    def layers_of(self, case: str) -> int | None:
        """The number of calls of a case in a step: from its first model, else from the suite."""
        return next((model.layers for model in self.models if case in model.cases), self.layers)

    @cached_property
    def by_case(self) -> "dict[str, CaseRecords]":
        """Case id → its records, see :func:`by_case`."""
        return by_case(self.records)

    @cached_property
    def baselines(self) -> "dict[str, CaseRecords]":
        """Group → the records of its baseline case."""
        return {records.group: records for records in self.by_label.get(self.baseline, ())}

    @cached_property
    def by_label(self) -> "dict[str, list[CaseRecords]]":
        """Label → its cases, in the order of the records."""
        return grouped(self.by_case.values(), lambda records: records.label)

    @cached_property
    def by_panel(self) -> "dict[str, dict[str, list[CaseRecords]]]":
        """Panel → label → its cases, shortest length first; panels in the order of the records."""
        panels: dict[str, dict[str, list[CaseRecords]]] = {}
        for records in self.by_case.values():
            panels.setdefault(records.panel, {}).setdefault(records.label, []).append(records)
        for series in panels.values():
            for cases in series.values():
                cases.sort(key=lambda records: records[0].seq)
        return panels


def label_of(record: Record) -> str:
    """`family/name[option=value,…]`."""
    return label(record.implementation, record.options)


def forms(label: str) -> set[str]:
    """The accepted spellings of an implementation: with or without its family and its options."""
    return {form for text in (label, label.partition("[")[0]) for form in (text, text.split("/", 1)[1])}


def group_of(record: Record) -> str:
    """The group of a record's case, from its id; cases of one group are compared with each other."""
    return f"{record.family}{record.case.removeprefix(label_of(record))}"


def panel_of(record: Record) -> str:
    """The panel of a record: `batch=1,dtype=f32,rows=128,topk=2048:fwd:cpu`."""
    return record.as_case.panel


def by_case(records: Iterable[Record]) -> dict[str, CaseRecords]:
    """Case id → its records, replicates in order, cases in order of first appearance."""
    return {
        case: CaseRecords(sorted(replicates, key=lambda record: record.replicate))
        for case, replicates in grouped(records, lambda record: record.case).items()
    }


def by_suite(info: Mapping[str, Any], records: Sequence[Record]) -> list[SuiteRecords]:
    """The suites in run.json (`info`), each with its records.

    Records outside of all suites form one suite per family without a baseline, so that none is lost. Records
    of a gate's sides are not in a suite.
    """
    by_case_id = by_case(record for record in records if record.side is None)
    suites: list[SuiteRecords] = []
    named_cases: set[str] = set()
    for name, description in (info.get("suites") or {}).items():
        cases = [case for case in description.get("cases", ()) if case in by_case_id]
        named_cases.update(cases)
        members = tuple(record for case in cases for record in by_case_id[case])
        suites.append(
            SuiteRecords(
                name=name,
                family=description["family"],
                baseline=description.get("baseline") or "",
                implementations=tuple(description.get("implementations") or _labels(members)),
                records=members,
                layers=description.get("layers"),
                models=tuple(map(StepModel.of, description.get("models") or ())),
                interleaved=description.get("interleaved") or "",
            )
        )
    suites += _suites_by_family([r for case, rs in by_case_id.items() if case not in named_cases for r in rs])
    shared = {"targets": tuple(info.get("targets") or ()), "fingerprints": info.get("fingerprints") or {}}
    return [replace(suite, **shared) for suite in suites]


def _labels(records: Iterable[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label_of(record) for record in records))


def _suites_by_family(records: Sequence[Record]) -> list[SuiteRecords]:
    return [
        SuiteRecords(family, family, "", _labels(members), tuple(members))
        for family, members in grouped(records, lambda record: record.family).items()
    ]


def targets(suite: SuiteRecords) -> list[str]:
    """Every target with static figures in the suite, in the requested order, otherwise the host first.

    The host is where a case runs, so figures stored under the case's device count as the host's.
    """
    names = {
        HOST if target == record.device else target for record in suite.records for target in record.static
    }
    order = {target: place for place, target in enumerate(suite.targets)}
    return sorted(names, key=lambda target: (order.get(target, len(order)), target != HOST, target))


def representative(records: Sequence[Record]) -> Record:
    """The replicate that represents its case: the first with a time, else the first."""
    for record in records:
        if record.timing is not None:
            return record
    return records[0]


def static_of(records: Sequence[Record], target: str = HOST) -> Static | None:
    """The compiler's figures of a case for a target, from any replicate, because they are exact."""
    for record in records:
        figures = record.static.get(target)
        if figures is None and target == HOST:
            figures = record.static.get(record.device)
        if figures is not None:
            return figures
    return None


def body_only(figures: Static, name: str) -> bool:
    """Whether a figure counts a loop's body only once, so that it must not be used in computations."""
    return figures.body_only and name in COUNTED
