"""`history`: the medians of a case in every stored run, with what gates said of it."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.analysis.history import CaseHistory, GateVerdict, history_of
from harness.analysis.results import CaseRecords
from harness.commands.compare import TREND
from harness.commands.output import console, print_json
from harness.core.errors import UsageError
from harness.core.patterns import matches, matching_ids
from harness.core.quick_run import quick_notes
from harness.core.record import Record
from harness.gate.report.wording import change, in_words, interval
from harness.gate.store import gates
from harness.store.find import all_runs, find

MOST = 8  # cases, a table each


def read_histories(results: Path, pattern: str, tell: Callable[[str], None]) -> list[CaseHistory]:
    """The histories of the cases that a pattern matches; `tell` is called for what cannot be read.

    UsageError where it matches none, or more than MOST.
    """
    known: dict[str, None] = {}
    kept: dict[str, dict[str, list[Record]]] = {}
    fingerprints: dict[str, Any] = {}
    environments: dict[str, Any] = {}
    quick: set[str] = set()
    for folder in all_runs(results) or [find(results)]:
        problems: list[str] = []
        if quick_notes(folder.readable_info([])):
            quick.add(folder.id)
        for record in folder.records(problems):
            if record.side is None and (record.timing is not None or record.status != "ok"):
                known[record.case] = None
                if matches(pattern, record.case) and (record.case in kept or len(kept) <= MOST):
                    kept.setdefault(record.case, {}).setdefault(folder.id, []).append(record)
        for facts, read in ((fingerprints, folder.fingerprints), (environments, folder.environments)):
            try:
                facts.update(read())
            except UsageError as error:
                problems.append(str(error))
        for problem in problems:
            tell(f"{folder.id}: {problem}")
    cases = matching_ids([pattern], known, "CASE")
    if len(cases) > MOST:
        raise UsageError(
            f'CASE: {len(cases)} cases match "{pattern}", and {MOST} are shown at most; '
            f'write more of one, as "{cases[0]}"'
        )
    verdicts = _verdicts(results, tell)
    histories: list[CaseHistory] = []
    for case, runs in kept.items():
        replicates = {
            run: CaseRecords(sorted(records, key=lambda r: r.replicate)) for run, records in runs.items()
        }
        histories.append(history_of(replicates, fingerprints, environments, verdicts.get(case, ()), quick))
    return histories


def print_histories(histories: Sequence[CaseHistory], *, json: bool) -> None:
    """Print a table per case."""
    heading = f"a trend, {TREND}"
    if json:
        cases = [asdict(case) for case in histories]
        print_json({"trend": True, "heading": heading, "cases": cases})
    else:
        from harness.report.run_report import print_history

        print_history(console(), histories, heading)


def _verdicts(results: Path, tell: Callable[[str], None]) -> dict[str, list[GateVerdict]]:
    """Case → the verdicts of stored gates; an interrupted gate has none."""
    found: dict[str, list[GateVerdict]] = {}
    for gate in gates(results):
        try:
            header = gate.header
        except UsageError as error:
            tell(f"its verdicts are left out: {error}")
            continue
        for case in header.outcome.cases if header.outcome else ():
            figures = "" if case.effect is None else f"{change(case)}, 98 % {interval(case)}"
            verdict = GateVerdict(gate.path.name, header.started or "", in_words(case.verdict), figures)
            found.setdefault(case.case, []).append(verdict)
    return found
