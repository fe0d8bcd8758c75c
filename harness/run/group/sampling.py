"""The sampling stage: a group's cases in shuffled rounds, until each is precise or its budget is spent."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

from harness.core.units import format_seconds
from harness.run.group.case_state import CaseState
from harness.run.group.forged_clock import forged_alone, forged_reason
from harness.run.group.group_context import SETS, GroupContext
from harness.run.group.stopping import Stopping
from harness.run.machine.interference import Interference

READING_SECONDS = 1e-3  # a reading is at least this long; shorter calls are repeated within it
SHORT_READING_SECONDS = 0.02  # readings up to this long are taken READINGS times a turn
READINGS = 3
LONG_CALL_SECONDS = 0.25  # longer calls need no untimed one before them to warm caches


def sample(context: GroupContext, states: Sequence[CaseState]) -> None:
    """Sample the cases. One that dies is settled, and the others go on without it."""
    for state in states:
        _place_inputs(context, state)
    stopping = Stopping(context.group.baselines, context.settings.precision, context.settings.budget_s)
    shuffle = random.Random(f"{context.settings.seed} {context.group.key} {context.replicate}")
    by_id = {state.id: state for state in states}
    interference = Interference(context.group.cases[0].device, context.run.clock)
    round_ = 0
    while turns := stopping.active([state.id for state in states if state.living]):
        interference.look()
        # By chance, so that no case always follows the same one and finds what that left in the caches.
        shuffle.shuffle(turns)
        for case in turns:
            _take_turn(context, stopping, by_id[case], round_)
        round_ += 1
    warnings = interference.warnings() if round_ else []
    for state in states:
        state.warnings += warnings
        _check_clock(context, state)
        if state.living:
            state.stopped = stopping.stopped(state.id)
            median = statistics.median(state.samples)
            context.run.prediction.note(state.case, median, state.work)


def _check_clock(context: GroupContext, state: CaseState) -> None:
    """Drop readings that the runner's own clock contradicts."""
    if not state.living:
        return
    rounds = {round_ for round_, _ in state.readings}
    read_s = sum(seconds for _, seconds in state.readings) * state.inner
    if forged_alone(read_s, state.unexplained_s, len(rounds)):
        context.settle(state, "crashed", forged_reason("its process", read_s, state.unexplained_s))


def leave(context: GroupContext, state: CaseState) -> None:
    """End a measured case: warn of what it left, and settle it as ok."""
    answer = context.ask(state, "turns", "finish")
    if answer is None:
        return
    names = [*answer.get("threads", ()), *answer.get("processes", ())]
    state.warnings += [f'it left "{name}" running; end it before returning' for name in names]
    state.warnings += [
        f"it left {file}; unlink it before returning" for file in answer.get("shared_memory", ())
    ]
    state.settle("ok")
    median = format_seconds(statistics.median(state.samples))
    context.run.listener.case_state(state.id, f"ok {median}")


def _place_inputs(context: GroupContext, state: CaseState) -> None:
    """Put the inputs in place: two sets to rotate over, or one where a second does not fit."""
    # A call below the clock's resolution may have been read as 0 seconds.
    state.inner = max(1, math.ceil(READING_SECONDS / max(state.call_s, 1e-7)))
    sets = SETS if state.needs_bytes(SETS) <= context.settings.memory_bytes else 1
    answer = context.ask(state, "inputs", "ready", sets=sets, cotangents=state.case.mode != "fwd")
    if answer is not None:
        state.method, state.cache = answer["method"], answer["cache"]
        if sets == 1 and state.cache == "rotated":
            state.cache = "warm"


def _take_turn(context: GroupContext, stopping: Stopping, state: CaseState, round_: int) -> None:
    readings = READINGS if state.call_s * state.inner <= SHORT_READING_SECONDS else 1
    warm = state.call_s <= LONG_CALL_SECONDS
    spent, clock = context.run.spent, context.run.clock
    context.run.listener.case_state(state.id, f"round {round_ + 1}")
    start = clock()
    answer = context.ask(state, "turns", "sample", readings=readings, inner=state.inner, warm=warm)
    unexplained = clock() - start - sum(answer["samples_s"] if answer else ()) * state.inner
    if answer is None:
        stopping.drop(state.id)
        return
    spent["turns"] -= answer["seconds"]
    spent["samples"] += answer["seconds"]
    state.unexplained_s += unexplained
    state.readings += [(round_, seconds) for seconds in answer["samples_s"]]
    stopping.feed(state.id, round_, answer["samples_s"], answer["seconds"])
