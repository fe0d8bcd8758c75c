"""The profiling stage of a run: rounds of calls with their stages timed, after a case has been sampled."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.core.plain_data import from_plain
from harness.core.record import OperatorFigures, Profile, StageFigures
from harness.run.group.case_state import CaseState
from harness.run.group.cold import measure_cold_starts
from harness.run.group.group_context import GroupContext
from harness.run.group.stopping import enough_rounds
from harness.store.atomic import write_files

TRACE = "trace.json"  # in the group's folder


def profile_stages(context: GroupContext, states: Sequence[CaseState]) -> None:
    """Profile the cases in shuffled rounds: six at least, and more while a case's budget lasts.

    One whose framework cannot be profiled keeps its timing, and a warning says why.
    """
    rounds: dict[str, list[Mapping[str, Any]]] = {state.id: [] for state in states}
    spent: dict[str, float] = dict.fromkeys(rounds, 0.0)
    shuffle = random.Random(f"{context.settings.seed} {context.group.key} profile")
    open_ = list(states)
    while open_:
        shuffle.shuffle(open_)
        for state in list(open_):
            context.run.listener.case_state(state.id, f"profile {len(rounds[state.id]) + 1}")
            start = context.run.clock()
            answer = context.ask(state, "profile", "profile")
            spent[state.id] += context.run.clock() - start
            refused = None if answer is None else answer.get("refused")
            if refused:
                state.warnings.append(f"not profiled: {refused}")
            elif answer is not None:
                rounds[state.id].append(answer)
            count, budget_s = len(rounds[state.id]), context.settings.budget_s
            if answer is None or refused or enough_rounds(count, spent[state.id], budget_s):
                open_.remove(state)
    for state in states:
        counted = context.ask(state, "profile", "count_stages") if rounds[state.id] else None
        if counted is not None:
            profile = _profile(rounds[state.id], counted["counts"])
            state.profile = replace(profile, operators=_operators(context, state))
        if context.run.extras.cold and state.living:
            measure_cold_starts(context, state)


def _operators(context: GroupContext, state: CaseState) -> tuple[OperatorFigures, ...]:
    """The operators that take longest, where asked for; a trace of the call goes where the user wants it."""
    extras = context.run.extras
    if not extras.operators and extras.trace is None:
        return ()
    answer = context.ask(state, "profile", "trace_operators", trace=TRACE if extras.trace else None)
    if answer is None:
        return ()
    if refused := answer["refused"]:
        state.warnings.append(f"no operators: {refused}")
    elif extras.trace is not None:
        write_files(extras.trace.parent, {extras.trace.name: (context.folder / TRACE).read_bytes()})
    return (
        tuple(from_plain(OperatorFigures, each) for each in answer["operators"]) if extras.operators else ()
    )


def _profile(rounds: Sequence[Mapping[str, Any]], counts: Mapping[str, Any]) -> Profile:
    """The rounds as one profile; a stage that a round did not enter took no time there."""
    names = list(dict.fromkeys(name for answer in rounds for name in answer["stages"]))
    nothing = (0.0, None, 0.0)
    stages: list[StageFigures] = []
    for name in names:
        readings = [answer["stages"].get(name, nothing) for answer in rounds]
        operators, flops, moved = counts.get(name) or (None, None, None)
        beside = tuple(seconds for _, _, seconds in readings)
        stages.append(
            StageFigures(
                stage=name,
                samples_s=tuple(seconds for seconds, _, _ in readings),
                entered=max((times for _, times, _ in readings if times is not None), default=None),
                operators=operators,
                flops=flops,
                bytes=moved,
                beside_s=beside if any(beside) else (),
            )
        )
    return Profile(tuple(answer["plain_s"] for answer in rounds), tuple(stages))
