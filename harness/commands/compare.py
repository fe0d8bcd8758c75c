"""`compare`: resolve its arguments to two implementations of one run, or to two runs (a trend only)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import UsageError

if TYPE_CHECKING:
    from harness.analysis.compare_runs import SideBySide
    from harness.store.runs import RunFolder

TREND = (
    "not a verdict: timings of different runs. With nothing changed, stored timings minutes apart raise "
    "a false alarm in 27-36 % of comparisons; measure both sides in one run for a verdict"
)
TOGETHER = "measured in the same rounds of one run"
EARLIER, LATER = "earlier", "later"


def compare_sides(
    results: Path, run: str, other: str | None, pair: tuple[str, ...], *, force: bool
) -> SideBySide:
    """Compare two runs, or two implementations of one. UsageError for other arguments."""
    if (other is None) != bool(pair):
        raise UsageError("compare takes two runs, or one run and --impl a,b")
    return (
        compare_implementations(results, run, pair)
        if other is None
        else compare_runs(results, run, other, force=force)
    )


def compare_implementations(results: Path, run: str, pair: tuple[str, ...]) -> SideBySide:
    """Compare two implementations of one run, the first in units of the second."""
    from harness.analysis.compare_runs import SideBySide, within
    from harness.store.find import find
    from harness.store.run_summary import summarise

    if len(pair) != 2:
        raise UsageError(
            f"--impl: name two implementations of the run, as --impl scatter,broadcast; got {len(pair)}"
        )
    folder = find(results, run)
    matched = within(folder.read().records, pair[0], pair[1])
    if not matched.changes:
        raise UsageError(
            f"--impl: {pair[0]} and {pair[1]} share no point in run {run}; see seqsweep show --run {run}"
        )
    only = {pair[0]: matched.only_of, pair[1]: matched.only_to}
    return SideBySide(False, TOGETHER, *pair, {"run": summarise(folder)}, matched.changes, only)


def compare_runs(results: Path, earlier: str, later: str, *, force: bool) -> SideBySide:
    """Compare two runs, the second in units of the first.

    UsageError for fingerprints that differ, unless forced.
    """
    from harness.analysis.compare_runs import SideBySide, across, differing
    from harness.store.find import find
    from harness.store.run_summary import summarise

    first, second = find(results, earlier), find(results, later)
    differences = differing(_facts(first), _facts(second))
    if differences and not force:
        raise UsageError(
            f"the runs differ in {', '.join(differences)}: their timings are of different machines; "
            "--force shows them all the same"
        )
    matched = across(first.read().records, second.read().records)
    if not matched.changes:
        raise UsageError(f"runs {first.id} and {second.id} share no case; see seqsweep show --run {first.id}")
    runs = {EARLIER: summarise(first), LATER: summarise(second)}
    only = {EARLIER: matched.only_to, LATER: matched.only_of}
    return SideBySide(True, TREND, LATER, EARLIER, runs, matched.changes, only, differences)


def _facts(folder: RunFolder) -> dict[str, object]:
    """The fingerprint of a run. Of a run with several: per fact the value they share, or the list of all."""
    known = list(folder.fingerprints().values())
    names = sorted({name for facts in known for name in facts})
    merged: dict[str, object] = {}
    for name in names:
        values = [facts.get(name) for facts in known]
        merged[name] = values[0] if all(value == values[0] for value in values) else values
    return merged
