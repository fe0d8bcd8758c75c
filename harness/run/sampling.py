"""The clock: all members of a group in shuffled rounds, until each has enough or its budget is spent."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

from harness.core.units import format_seconds
from harness.run.case_state import CaseState
from harness.run.group_context import GroupContext
from harness.run.machine.interference import Interference
from harness.run.stopping import Stopping
from harness.run.verification import SETS

READING_SECONDS = 1e-3  # a reading is at least this long; shorter calls are repeated within it
SHORT_READING_SECONDS = 0.02  # readings up to this long are taken READINGS times a turn
READINGS = 3
FREE_SECONDS = 0.05  # of a turn that readings need not explain: messages, waking, collecting garbage
LONG_CALL_SECONDS = 0.25  # such a call needs no untimed one before it to warm caches


def sample(sitting: GroupContext, members: Sequence[CaseState]) -> None:
    """Read the clock. A member that dies keeps its status, and the others go on without it."""
    for member in members:
        _ready(sitting, member)
    stopping = Stopping(sitting.group.baselines, sitting.settings.precision, sitting.settings.budget_s)
    shuffle = random.Random(f"{sitting.settings.seed} {sitting.group.key} {sitting.replicate}")
    by_id = {member.id: member for member in members}
    disturbance = Interference(sitting.group.cases[0].device, sitting.context.clock)
    round_ = 0
    while turns := stopping.active([member.id for member in members if member.living]):
        disturbance.look()
        shuffle.shuffle(turns)
        for case in turns:
            _turn(sitting, stopping, by_id[case], round_)
        round_ += 1
    warnings = disturbance.warnings() if round_ else []
    for member in members:
        member.warnings += warnings
        _distrust(sitting, member)
        if member.living:
            member.stopped = stopping.stopped(member.id)
            median = statistics.median(member.samples)
            sitting.context.prediction.note(member.case, median, member.work)


def _distrust(sitting: GroupContext, member: CaseState) -> None:
    """Drop readings that the runner's own clock contradicts: an implementation may forge its process's.

    What a turn takes beside its readings is an untimed call, no longer than a reading, and some
    milliseconds; where most of the time is something else, the readings are not of these calls.
    """
    if not member.living:
        return
    rounds = {round_ for round_, _ in member.readings}
    read_s = sum(seconds for _, seconds in member.readings) * member.inner
    if member.unexplained_s > 2 * read_s + FREE_SECONDS * len(rounds):
        took, claimed = format_seconds(member.unexplained_s + read_s), format_seconds(read_s)
        reason = f"its process read {claimed} where {took} passed here; leave time.perf_counter alone"
        sitting.settle(member, "crashed", reason)


def leave(sitting: GroupContext, member: CaseState) -> None:
    """The case is measured: name what it left running, and end it."""
    answer = sitting.ask(member, "turns", "finish")
    if answer is None:
        return
    left = [*answer.get("threads", ()), *answer.get("processes", ())]
    member.warnings += [f'it left "{name}" running; end it before returning' for name in left]
    member.settle("ok")
    median = format_seconds(statistics.median(member.samples))
    sitting.context.listener.case_state(member.id, f"ok {median}")


def _ready(sitting: GroupContext, member: CaseState) -> None:
    """Put the inputs in place: two sets to rotate over, or one where a second does not fit."""
    member.inner = max(1, math.ceil(READING_SECONDS / max(member.call_s, 1e-7)))
    sets = SETS if member.needs_bytes(SETS) <= sitting.settings.memory_bytes else 1
    answer = sitting.ask(member, "inputs", "ready", sets=sets, cotangents=member.case.mode != "fwd")
    if answer is not None:
        member.method, member.cache = answer["method"], answer["cache"]
        if sets == 1 and member.cache == "rotated":
            member.cache = "warm"


def _turn(sitting: GroupContext, stopping: Stopping, member: CaseState, round_: int) -> None:
    readings = READINGS if member.call_s * member.inner <= SHORT_READING_SECONDS else 1
    warm = member.call_s <= LONG_CALL_SECONDS
    spent, clock = sitting.context.spent, sitting.context.clock
    sitting.context.listener.case_state(member.id, f"round {round_ + 1}")
    start = clock()
    answer = sitting.ask(member, "turns", "sample", readings=readings, inner=member.inner, warm=warm)
    unexplained = clock() - start - sum(answer["samples_s"] if answer else ()) * member.inner
    if answer is None:
        stopping.drop(member.id)
        return
    spent["turns"] -= answer["seconds"]
    spent["samples"] += answer["seconds"]
    member.unexplained_s += unexplained
    member.readings += [(round_, seconds) for seconds in answer["samples_s"]]
    stopping.feed(member.id, round_, answer["samples_s"], answer["seconds"])
