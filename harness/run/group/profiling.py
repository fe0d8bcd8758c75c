"""The profiling stage, after sampling: rounds of calls with timed stages, and the kernels of a call."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.core.errors import Unsupported
from harness.core.median_interval import samples_needed
from harness.core.plain_data import from_plain
from harness.core.record import OperatorFigures, Profile, StageFigures
from harness.run.case.case_state import CaseState
from harness.run.group.group_context import GroupContext
from harness.run.processes.executor import Ended
from harness.store.atomic import write_files

TRACE = "trace.json"  # in the group's folder
MOST_ROUNDS = 30  # the intervals are for shares, not for decisions

Replies = list[Mapping[str, Any]]


def profile_stages(context: GroupContext, states: Sequence[CaseState]) -> None:
    """Profile the cases in shuffled rounds. A case that cannot be profiled gets a warning."""
    rounds = _take_rounds(context, states)
    for state in states:
        counted = context.ask(state, "profile", "count_stages") if state.id in rounds else None
        if counted is not None:
            profile = _profile(rounds[state.id], counted["counts"])
            state.profile = replace(profile, operators=_operators(context, state))


def _take_rounds(context: GroupContext, states: Sequence[CaseState]) -> dict[str, Replies]:
    """The replies of each case in shuffled rounds: as many as an interval needs, and more within its budget.

    The result has no entry for a case that is refused or settled.
    """
    taken: dict[str, Replies] = {state.id: [] for state in states}
    begun_s = {state.id: state.wall_s for state in states}
    shuffle = random.Random(f"{context.settings.seed} {context.group.key} profile")
    open_ = list(states)
    while open_:
        shuffle.shuffle(open_)
        for state in list(open_):
            answers = taken[state.id]
            context.run.listener.case_state(state.id, f"profile {len(answers) + 1}")
            answer = context.ask(state, "profile", "profile")
            if answer is not None and (refused := answer.get("refused")):
                state.warn(f"not profiled: {refused}")
                answer = None
            if answer is None:
                del taken[state.id]
            else:
                answers.append(answer)
            spent_s = state.wall_s - begun_s[state.id]
            if answer is None or _enough(len(answers), spent_s, context.settings.budget_s):
                open_.remove(state)
    return taken


def _enough(rounds: int, spent_s: float, budget_s: float) -> bool:
    """Whether the rounds suffice for an interval, and another one would exceed the budget."""
    if rounds < samples_needed():
        return False
    return rounds >= MOST_ROUNDS or spent_s * (rounds + 1) / rounds > budget_s


def _operators(context: GroupContext, state: CaseState) -> tuple[OperatorFigures, ...]:
    """The slowest operators, if requested. A requested trace of the call is written to the user's file."""
    extras = context.run.extras
    if not extras.operators and extras.trace is None:
        return ()
    answer = context.ask(state, "profile", "trace_operators", trace=TRACE if extras.trace else None)
    if answer is None:
        return ()
    if refused := answer["refused"]:
        state.warn(f"no operators: {refused}")
    elif extras.trace is not None:
        write_files(extras.trace.parent, {extras.trace.name: (context.folder / TRACE).read_bytes()})
    return (
        tuple(from_plain(OperatorFigures, each) for each in answer["operators"]) if extras.operators else ()
    )


def _profile(rounds: Sequence[Mapping[str, Any]], counts: Mapping[str, Any]) -> Profile:
    """One profile of all rounds; a stage takes 0 s in a round that does not enter it."""
    names = list(dict.fromkeys(name for answer in rounds for name in answer["stages"]))
    nothing = (0.0, None, 0.0)
    stages: list[StageFigures] = []
    for name in names:
        own, times, parallel = zip(*(answer["stages"].get(name, nothing) for answer in rounds), strict=True)
        operators, flops, moved = counts.get(name) or (None, None, None)
        stages.append(
            StageFigures(
                stage=name,
                samples_s=own,
                entered=max((count for count in times if count is not None), default=None),
                operators=operators,
                flops=flops,
                bytes=moved,
                beside_s=parallel if any(parallel) else (),
            )
        )
    return Profile(tuple(answer["plain_s"] for answer in rounds), tuple(stages))


def name_kernels(context: GroupContext, state: CaseState) -> None:
    """Name the kernels of one call. The case keeps its figures if that fails, or if its process dies."""
    if state.case.device != "cuda":
        return
    context.run.listener.case_state(state.id, "kernels")
    try:
        answer = context.ask_or_raise(state, "kernels", "kernels")
    except (Unsupported, Ended) as end:
        state.kernels_unknown = str(end)
        return
    state.kernels_run, state.kernels_unknown = tuple(map(tuple, answer["kernels"])), answer["refused"]
