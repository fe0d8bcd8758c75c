"""`compare`: resolve its arguments to two implementations of a run, two runs (a trend), or machines."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from harness.analysis.compare_runs import SideBySide, describe_differences, match_implementations, match_runs
from harness.analysis.machine_speedups import MachineSpeedups, machine_speedups
from harness.analysis.suite_results import SuiteResults
from harness.core.errors import UsageError, nearest
from harness.core.typed_command import quick_notes
from harness.findings.findings_run import read_findings_run
from harness.store.find import all_runs, find
from harness.store.run_summary import summarise
from harness.store.runs import RunFolder

TREND = (
    "not a verdict, because the timings are from different runs. With unchanged code, timings minutes apart "
    "gave a false alarm in 27-36 % of comparisons. For a verdict, measure both sides in one run"
)
TOGETHER = "measured in the same rounds of one run"
EARLIER, LATER = "earlier", "later"


def compare_sides(results: Path, runs: Sequence[str], pair: tuple[str, ...], *, force: bool) -> SideBySide:
    """Compare two runs, or two implementations of one. UsageError for other arguments."""
    match runs:
        case [run] if pair:
            return compare_implementations(results, run, pair)
        case [earlier, later] if not pair:
            return compare_runs(results, earlier, later, force=force)
        case _:
            raise UsageError("compare needs two runs, or one run and --impl a,b, or --across [SUITE…]")


def compare_machines(
    results: Path, suites: Sequence[str], runs: Sequence[str], log: Callable[[str], None]
) -> list[MachineSpeedups]:
    """The speedups of the suites (none: all) in the named runs (none: all stored ones), by machine.

    `log` is called for each run that cannot be read. UsageError for an unknown suite, and if there is no
    speedup.
    """
    folders = [find(results, name) for name in runs] or all_runs(results) or [find(results)]
    known: set[str] = set()
    found = machine_speedups(_timed_suites(folders, suites, known, log))
    for name in suites:
        if name not in known:
            raise UsageError(f'no run has a suite "{name}"{nearest(name, known)}')
    if not found:
        raise UsageError("no run has a time and its baseline's time; measure with: seqsweep run")
    return found


def _timed_suites(
    folders: Sequence[RunFolder], suites: Sequence[str], known: set[str], log: Callable[[str], None]
) -> Iterator[SuiteResults]:
    """The suites of timed runs, run by run. Adds the names of all suites to `known`."""
    for folder in folders:
        try:
            read = read_findings_run(folder, folder.id, suites)
        except UsageError as error:
            log(str(error))
            continue
        for problem in (*quick_notes(read.info), *read.problems):
            log(f"{folder.id}: {problem}")
        known.update(suite.name for suite in read.suites)
        if read.depth == "run":
            yield from (suite for suite in read.suites if not suites or suite.name in suites)


def compare_implementations(results: Path, run: str, pair: tuple[str, ...]) -> SideBySide:
    """Compare two implementations of one run, the first relative to the second."""
    if len(pair) != 2:
        raise UsageError(f"--impl: write two implementations, like scatter,broadcast, not {len(pair)}")
    folder = find(results, run)
    matched = match_implementations(folder.read().records, pair[0], pair[1])
    if not matched.changes:
        raise UsageError(f"--impl: {pair[0]} and {pair[1]} share no point; see seqsweep show --run {run}")
    only = {pair[0]: matched.only_of, pair[1]: matched.only_to}
    heading, runs = _heading(TOGETHER, folder), {"run": summarise(folder)}
    return SideBySide(False, heading, *pair, runs, matched.changes, only)


def compare_runs(results: Path, earlier: str, later: str, *, force: bool) -> SideBySide:
    """Compare two runs, the second relative to the first.

    UsageError if their fingerprints differ, unless `force` is set.
    """
    first, second = find(results, earlier), find(results, later)
    differences = describe_differences(_facts(first), _facts(second))
    if differences and not force:
        raise UsageError(
            f"the runs are from machines that differ in {', '.join(differences)}; "
            "use --force to compare them anyway"
        )
    matched = match_runs(first.read().records, second.read().records)
    if not matched.changes:
        raise UsageError(f"runs {first.id} and {second.id} share no case; see seqsweep show --run {first.id}")
    heading, runs = _heading(TREND, first, second), {EARLIER: summarise(first), LATER: summarise(second)}
    only = {EARLIER: matched.only_to, LATER: matched.only_of}
    return SideBySide(True, heading, LATER, EARLIER, runs, matched.changes, only, differences)


def _heading(kind: str, *folders: RunFolder) -> str:
    """How the sides were measured, with a note if their times are noisy."""
    notes = (note for folder in folders for note in quick_notes(folder.readable_info([])))
    return "; ".join(dict.fromkeys([kind, *notes]))


def _facts(folder: RunFolder) -> dict[str, object]:
    """The fingerprint of a run. If it has several, a fact that differs is the list of its values."""
    known = list(folder.fingerprints().values())
    names = sorted({name for facts in known for name in facts})
    merged: dict[str, object] = {}
    for name in names:
        values = [facts.get(name) for facts in known]
        merged[name] = values[0] if all(value == values[0] for value in values) else values
    return merged
