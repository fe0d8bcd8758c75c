"""The sampling stage: times a group's cases in shuffled rounds, until each is precise or out of budget.

Each case is also timed on new input values, and that result is verified: at the end and, for calls of at
most 50 ms, once between samples.
"""

import math
import random
import secrets
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.core.record import MOST_OTHER_LOAD, MOST_QUEUED
from harness.core.units import format_seconds
from harness.core.workload_files import is_captured
from harness.run.case.case_state import CaseState
from harness.run.case.samples import SamplingSetup, all_look_memoized, memoization_reason
from harness.run.group.group_context import GroupContext
from harness.run.group.stopping import Stopping
from harness.run.group.verification import Verifier
from harness.run.machine.interference import Interference

SHORT_SAMPLE_SECONDS = 0.02  # samples up to this long are taken SAMPLES times a turn
SAMPLES = 3
CHECK_ROUNDS = 3  # a short call is verified in a random one of this number of first rounds
TURNS_NOW, LONG_TURNS_NOW = 8, 2  # turns in which a suspected call is sampled again
SAME_VALUES = "captured inputs: every call gets the same values, so cached results cannot be detected"
CONFIRMATIONS = 6  # further inputs that must show memoization before it is reported


def sample(context: GroupContext, verifier: Verifier, states: Sequence[CaseState]) -> None:
    """Sample the cases. A case that dies or breaks a rule is settled, and the others continue without it."""
    for state in states:
        _place_inputs(context, state)
        if any(is_captured(value) for _, value in state.case.workload):
            state.warn(SAME_VALUES)
    group, settings = context.group, context.settings
    long = {state.id for state in states if state.call.is_long}
    stopping = Stopping(
        *(group.baselines, settings.precision, settings.budget_s, long, group.confidence),
        steady=group.several_inputs,
    )
    interference = Interference(group.cases[0].device, context.run.clock)
    rounds = _take_rounds(context, verifier, stopping, interference, states)
    _take_last_turns(context, verifier, stopping, states, rounds)
    _note_interference(interference, states, rounds)
    for state in states:
        if state.unsettled:
            settle_memoized(context, verifier, state, state.samples.median_s)
        if not state.unsettled:
            stopping.drop(state.id)
    for state in states:
        if state.unsettled:
            state.samples.stopped = stopping.reason(state.id)
            context.run.predictor.record(state.case, state.samples.median_s)


def _take_rounds(
    context: GroupContext,
    verifier: Verifier,
    stopping: Stopping,
    interference: Interference,
    states: Sequence[CaseState],
) -> int:
    """Sample in shuffled rounds until no case needs another one, and return the number of rounds."""
    shuffle = random.Random(f"{context.settings.seed} {context.group.key} {context.replicate}")
    check_rounds = {
        state.id: secrets.randbelow(CHECK_ROUNDS) for state in states if not state.call.is_verified_once
    }
    by_id = {state.id: state for state in states}
    round_ = 0
    while cases := stopping.cases_to_sample([state.id for state in states if state.unsettled]):
        interference.look()
        # Shuffled, so that no case always follows the same case, whose data may still be in the caches.
        shuffle.shuffle(cases)
        for case in cases:
            state = by_id[case]
            _take_turn(context, stopping, state, round_)
            if state.unsettled and round_ == check_rounds.get(case):
                verifier.check_timed_call(state, "fresh0", _samples_in_turn(state))
            if not state.unsettled:
                stopping.drop(case)
        round_ += 1
    return round_


def _take_last_turns(
    context: GroupContext, verifier: Verifier, stopping: Stopping, states: Sequence[CaseState], round_: int
) -> None:
    """Verify a timed call of every case; for long calls, the verified call is also the last sample."""
    unsettled = [state for state in states if state.unsettled]
    if any(state.call.is_long for state in unsettled):
        # Ratios are by round, so the other cases also have a turn in the round of the long calls' last turn.
        for state in unsettled:
            if state.unsettled and not state.call.is_long:
                _take_turn(context, stopping, state, round_)
    for state in unsettled:
        if not state.unsettled:
            continue
        answer = verifier.check_timed_call(state, "fresh1", _samples_in_turn(state))
        if state.call.is_long and answer is not None:
            context.reattribute(answer["seconds"], "contract", "samples")
            _feed(stopping, state, round_, answer["samples_s"], answer["seconds"])


def _note_interference(interference: Interference, states: Sequence[CaseState], rounds: int) -> None:
    """Add the group's warnings to every case, and the GPU readings of the case's rounds."""
    warnings, load = (interference.warnings(), interference.other_load()) if rounds else ([], None)
    for state in states:
        state.warn(*warnings)
        state.samples.other_load = load
        first = state.samples.first_round
        last = max((number for number, _ in state.samples.timed), default=-1) - first
        state.samples.gpu_readings = [
            replace(each, round=first + each.round)
            for each in interference.gpu_readings
            if each.round <= last + 1
        ]


def _samples_in_turn(state: CaseState) -> int:
    """The number of samples in a turn: one if a sample is long."""
    return 1 if state.call.seconds * state.setup.inner > SHORT_SAMPLE_SECONDS else SAMPLES


def settle_memoized(context: GroupContext, verifier: Verifier, state: CaseState, sampled_s: float) -> None:
    """Settle a case that is fast only on repeated input values, every time and on further inputs.

    `sampled_s` is the median of its samples in seconds per call.
    """
    for number in range(CONFIRMATIONS):
        if not (state.unsettled and all_look_memoized(state.samples.first_and_again, sampled_s)):
            return
        now_s = _sample_now(context, state)
        verifier.check_timed_call(state, f"fresh{2 + number}", SAMPLES, now_s)
    if state.unsettled and all_look_memoized(state.samples.first_and_again, sampled_s):
        reason = memoization_reason(state.samples.first_and_again, sampled_s)
        if doubt := _other_cause(context, verifier, state):
            state.warn(f"possibly {reason}; {doubt}, so measure again on a quiet machine")
        else:
            context.settle_broken_rule(state, "caches no results", reason)


def _other_cause(context: GroupContext, verifier: Verifier, suspect: CaseState) -> str:
    """Another cause for slow calls on new values; empty without one.

    Other programs may be the cause, or anything that now also slows a case that was fast on new values.
    """
    queued = statistics.median(call.queued for call in suspect.samples.first_and_again)
    if queued > MOST_QUEUED and (suspect.samples.other_load or 0) > MOST_OTHER_LOAD:
        return "but other programs used the processor"
    for other in context.unsettled():
        now_s = _sample_now(context, other) if other is not suspect else math.inf
        earlier = other.samples.first_and_again.copy()
        if other is suspect or all_look_memoized(earlier, now_s):
            continue
        verifier.check_timed_call(other, f"fresh{2 + CONFIRMATIONS}", SAMPLES, now_s)
        latest = other.samples.first_and_again[len(earlier) :]
        return f"but so does {other.case.label} now" if all_look_memoized(latest, now_s) else ""
    return ""


def _sample_now(context: GroupContext, state: CaseState) -> float:
    """The least seconds of a call in some ordinary turns, because the machine may be busier than before.

    There are several turns, because a cache may wait before it is used.
    """
    least_s = math.inf
    turns, samples = (LONG_TURNS_NOW, 1) if state.call.is_long else (TURNS_NOW, SAMPLES)
    for _ in range(turns if state.unsettled else 0):
        answer = _sample_turn(context, state, "contract", samples)
        least_s = min(least_s, *(answer["samples_s"] if answer is not None else ()))
    return least_s


def _sample_turn(
    context: GroupContext, state: CaseState, activity: str, samples: int
) -> Mapping[str, Any] | None:
    warm = not state.call.is_long
    return context.ask(state, activity, "sample", readings=samples, inner=state.setup.inner, warm=warm)


def finish_case(context: GroupContext, state: CaseState) -> None:
    """Settle a measured case as ok, if its threads used only its cores."""
    context.check_cores(state)
    if state.unsettled:
        state.settle("ok")
        context.run.listener.case_state(state.id, f"ok {format_seconds(state.samples.median_s)}")


def _place_inputs(context: GroupContext, state: CaseState) -> None:
    """Put the inputs in place: two sets to rotate over, or one if a second does not fit."""
    sets = context.sets_of(state)
    state.setup = SamplingSetup(sets, state.call.calls_per_sample)
    cotangents, graphs = state.case.mode != "fwd", context.run.extras.graphs
    answer = context.ask(state, "inputs", "ready", sets=sets, cotangents=cotangents, graphs=graphs)
    if answer is not None:
        state.warn(*filter(None, [answer["reason"]]))
        cache = "warm" if sets == 1 and answer["cache"] == "rotated" else answer["cache"]
        state.setup = replace(state.setup, method=answer["method"], cache=cache)


def _take_turn(context: GroupContext, stopping: Stopping, state: CaseState, round_: int) -> None:
    context.run.listener.case_state(state.id, f"round {round_ + 1}")
    answer = _sample_turn(context, state, "turns", _samples_in_turn(state))
    if answer is None:
        return
    context.reattribute(answer["seconds"], "turns", "samples")
    if answer["latency_s"] is not None:
        state.samples.latencies_s.append(answer["latency_s"])
    if answer["queued"] is not None:
        state.samples.queued.append(answer["queued"])
    _feed(stopping, state, round_, answer["samples_s"], answer["seconds"])


def _feed(
    stopping: Stopping, state: CaseState, round_: int, samples: Sequence[float], seconds: float
) -> None:
    state.samples.timed += [(state.samples.first_round + round_, sample) for sample in samples]
    # Starting a profiler takes longer than most calls, and must not cost a case any of its fewest rounds.
    calls_s = sum(samples) * state.setup.inner if state.setup.method == "cupti" else math.inf
    stopping.feed(state.id, round_, samples, seconds, calls_s)
