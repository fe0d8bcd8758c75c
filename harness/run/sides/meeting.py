"""Setting up a gate: the cases of both sides beside each other, the processes that judge and time them."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from harness.catalog.catalog import ImplementationInfo
from harness.run.context import Context
from harness.run.events import Listener
from harness.run.evidence import Stamp
from harness.run.member import Member
from harness.run.processes import Processes
from harness.run.sides.arms import Interpreters, Seats
from harness.run.sides.duel import BASE, BOTH, CANDIDATE, Duel
from harness.run.sides.side import Side
from harness.run.sides.table import Table
from harness.run.sitting import Sitting
from harness.spec.case import Case
from harness.sweep.schedule import Group, Schedule

STAMP = Stamp(run="gate", fingerprint="", environment="", seed=0)  # a gate keeps pairs, not records

Opponents = Mapping[Case, Case | None]  # the base's case of every candidate's; None: it has none


@contextmanager
def timed(
    schedule: Schedule, opponents: Opponents, sides: Mapping[str, Side], listener: Listener
) -> Generator[tuple[Table, list[Duel]]]:
    """Everything that a contest needs; all of it ends with the block."""
    catalog = sides[CANDIDATE].catalog
    desks = Processes(sorted({catalog.family(case.family).desk for case in opponents}), "cpu")
    device = next((case.device for case in opponents if case.device != "cpu"), "cpu")
    seats = Seats(desks)
    context = Context(seats, catalog, STAMP, listener, desks.folder)
    duels: list[Duel] = []
    try:
        for group in schedule.groups:
            sitting, halves = seated(group, opponents, sides, context)
            duels += [Duel(pair, sitting) for pair in halves]
        ranks = _ranks([duel.candidate.case for duel in duels])
        duels.sort(key=lambda duel: ranks[duel.id])
        settings = duels[0].sitting.settings
        opener = Interpreters(desks.folder, device, desks.watch)
        yield Table(context, seats, opener, dict(sides), settings, device), duels
    finally:
        for duel in duels:
            duel.sitting.close()
        desks.close()


def _ranks(cases: Sequence[Case]) -> dict[str, int]:
    """A case's place among the lengths of its series: what a budget is too small for is the longest."""
    series: dict[str, list[Case]] = {}
    for case in cases:
        series.setdefault(case.series, []).append(case)
    ordered = (sorted(lengths, key=lambda case: case.seq) for lengths in series.values())
    return {case.id: rank for lengths in ordered for rank, case in enumerate(lengths)}


def seated(
    group: Group, opponents: Opponents, sides: Mapping[str, Side], context: Context
) -> tuple[Sitting, list[dict[str, Member]]]:
    """A group's cases that have an opponent, one dict of both sides' members each."""
    pairs: list[dict[str, Member]] = []
    for case in group.cases:
        if case in opponents:
            theirs = opponents[case]
            pair = {CANDIDATE: _member(case, sides[CANDIDATE])}
            pairs.append(pair if theirs is None else {**pair, BASE: _member(theirs, sides[BASE])})
    members = [pair[side] for side in BOTH for pair in pairs if side in pair]  # the candidate draws inputs
    return Sitting(group, context, 0, members), pairs


def _member(case: Case, side: Side) -> Member:
    info: ImplementationInfo = side.catalog.implementation(case.implementation)
    started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Member(case, info, baseline=False, started=started, side=side.name, within=side.within(info))
