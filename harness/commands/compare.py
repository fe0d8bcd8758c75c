"""`compare`: resolve its arguments to two implementations of one run, or to two runs (a trend only)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import UsageError

if TYPE_CHECKING:
    from harness.analysis.compare_runs import Change
    from harness.store.runs import RunFolder

TREND = (
    "not a verdict: timings of different runs. With nothing changed, stored timings minutes apart raise "
    "a false alarm in 27-36 % of comparisons; measure both sides in one run for a verdict"
)
TOGETHER = "measured in the same rounds of one run"


@dataclass(frozen=True)
class SideBySide:
    """Two sides compared. `trend` is true where they were not measured together."""

    trend: bool
    heading: str
    changes: list[Change]
    differing: list[str]

    def to_json(self) -> dict[str, Any]:
        changes = [vars(change) for change in self.changes]
        return {"trend": self.trend, "differing": self.differing, "comparisons": changes}


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
    from harness.analysis.compare_runs import within
    from harness.store.find import find

    if len(pair) != 2:
        raise UsageError(
            f"--impl: name two implementations of the run, as --impl scatter,broadcast; got {len(pair)}"
        )
    changes = within(find(results, run).read().records, pair[0], pair[1])
    if not changes:
        raise UsageError(
            f"--impl: {pair[0]} and {pair[1]} share no point in run {run}; see seqsweep show --run {run}"
        )
    return SideBySide(False, TOGETHER, changes, [])


def compare_runs(results: Path, earlier: str, later: str, *, force: bool) -> SideBySide:
    """Compare two runs, the second in units of the first.

    UsageError for fingerprints that differ, unless forced.
    """
    from harness.analysis.compare_runs import across, differing
    from harness.store.find import find

    first, second = find(results, earlier), find(results, later)
    differences = differing(_facts(first), _facts(second))
    if differences and not force:
        raise UsageError(
            f"the runs differ in {', '.join(differences)}: their timings are of different machines; "
            "--force shows them all the same"
        )
    changes = across(first.read().records, second.read().records)
    if not changes:
        raise UsageError(f"runs {first.id} and {second.id} share no case; see seqsweep show --run {first.id}")
    return SideBySide(True, TREND, changes, differences)


def _facts(folder: RunFolder) -> dict[str, object]:
    """The fingerprint of a run. Of a run with several: per fact the value they share, or the list of all."""
    known = list(folder.fingerprints().values())
    names = sorted({name for facts in known for name in facts})
    merged: dict[str, object] = {}
    for name in names:
        values = [facts.get(name) for facts in known]
        merged[name] = values[0] if all(value == values[0] for value in values) else values
    return merged
