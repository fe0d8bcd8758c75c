"""Filters for runs by suite, family, implementation, length, mode and device."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.analysis.results import forms, label_of
from harness.core.errors import UsageError, nearest
from harness.core.record import Record
from harness.core.units import parse_count

# Flag → the words that match a record.
NAMES: dict[str, Callable[[Record], set[str]]] = {
    "--family": lambda record: {record.family},
    "--impl": lambda record: forms(label_of(record)),
    "--seq": lambda record: {str(record.seq)},
    "--mode": lambda record: {record.mode},
    "--device": lambda record: {record.device},
}


@dataclass(frozen=True)
class Selection:
    """Filter words as typed; an empty filter selects everything. `impls` are names, ids or labels."""

    suites: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    impls: tuple[str, ...] = ()
    seqs: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()

    def of(self, info: Mapping[str, Any], records: Iterable[Record]) -> tuple[dict[str, Any], list[Record]]:
        """The suites and records that match; UsageError for a word that the run does not have.

        `records` are read one by one, and only those that match stay in memory.
        """
        selected = [record for _, record in self.across([(info, records)])]
        return self.narrow(info, selected), selected

    def across(
        self, runs: Iterable[tuple[Mapping[str, Any], Iterable[Record]]]
    ) -> Iterator[tuple[Mapping[str, Any], Record]]:
        """The matching records of several runs one by one, each with its run.json.

        After the last record, UsageError for a word that none of the runs has.
        """
        wanted = self._wanted()
        known: dict[str, set[str]] = {"suites": set(), **{flag: set() for flag in wanted}}
        for info, records in runs:
            suites = info.get("suites") or {}
            known["suites"].update(suites)
            cases = {case for name in self.suites if name in suites for case in suites[name]["cases"]}
            for record in records:
                if self.suites and record.case not in cases:
                    continue
                for flag, words in wanted.items():
                    names = NAMES[flag](record)
                    known[flag] |= names
                    if names.isdisjoint(words):
                        break
                else:
                    yield info, record
        for name in self.suites:
            if name not in known["suites"]:
                raise UsageError(f'the run has no suite "{name}"{nearest(name, known["suites"])}')
        for flag, words in wanted.items():
            for word in words:
                if word not in known[flag]:
                    raise UsageError(f'{flag}: the run has no "{word}"{nearest(word, known[flag])}')

    def narrow(self, info: Mapping[str, Any], selected: Iterable[Record]) -> dict[str, Any]:
        """Run.json with only the suites and cases of the selected records."""
        left = {record.case for record in selected}
        suites = {
            name: {**suite, "cases": [case for case in suite["cases"] if case in left]}
            for name, suite in (info.get("suites") or {}).items()
            if not self.suites or name in self.suites
        }
        return {**info, "suites": {name: suite for name, suite in suites.items() if suite["cases"]}}

    def _wanted(self) -> dict[str, tuple[str, ...]]:
        """The words of each given flag, in the order in which they are applied."""
        try:
            lengths = tuple(str(parse_count(word)) for word in self.seqs)
        except ValueError as error:
            raise UsageError(f"--seq: {error}") from None
        words = (self.families, self.impls, lengths, self.modes, self.devices)
        return {flag: own for flag, own in zip(NAMES, words, strict=True) if own}


def rebase(info: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Run.json with another baseline (a name, id or label) in every suite that has it.

    UsageError if no suite has it, or if the name matches several variants in one suite.
    """
    suites: dict[str, dict[str, Any]] = {}
    known: set[str] = set()
    changed = False
    for suite, described in (info.get("suites") or {}).items():
        labels = described.get("implementations") or ()
        fitting = [label for label in labels if name in forms(label)]
        if len(fitting) > 1:
            choices = " or ".join(label.split("/", 1)[1] for label in fitting)
            raise UsageError(f'--baseline: "{name}" matches several in {suite}; write {choices}')
        known.update(form for label in labels for form in forms(label))
        changed = changed or bool(fitting)
        suites[suite] = {**described, "baseline": fitting[0]} if fitting else dict(described)
    if not changed:
        raise UsageError(f'--baseline: the run has no "{name}"{nearest(name, known)}')
    return {**info, "suites": suites}
