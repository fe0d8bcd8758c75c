"""The profiling stage: rounds of calls with their stages timed, after the cases have been sampled."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.core.plain_data import from_plain
from harness.core.record import OperatorFigures, Profile, StageFigures
from harness.run.case.case_state import CaseState
from harness.run.group.cold import measure_cold_starts
from harness.run.group.extra_rounds import take_rounds
from harness.run.group.group_context import GroupContext
from harness.store.atomic import write_files

TRACE = "trace.json"  # in the group's folder


def profile_stages(context: GroupContext, states: Sequence[CaseState]) -> None:
    """Profile the cases in shuffled rounds. One that cannot be profiled keeps its timing, with a warning."""

    def ask(state: CaseState) -> Mapping[str, Any] | None:
        answer = context.ask(state, "profile", "profile")
        if answer is not None and (refused := answer.get("refused")):
            state.warn(f"not profiled: {refused}")
            return None
        return answer

    rounds = take_rounds(context, states, "profile", ask)
    for state in states:
        counted = context.ask(state, "profile", "count_stages") if state.id in rounds else None
        if counted is not None:
            profile = _profile(rounds[state.id], counted["counts"])
            profile = replace(profile, operators=_operators(context, state))
            state.extras = replace(state.extras, profile=profile)
        if context.run.extras.cold and state.living:
            measure_cold_starts(context, state)


def _operators(context: GroupContext, state: CaseState) -> tuple[OperatorFigures, ...]:
    """The slowest operators, if requested; a requested trace of the call is written to the user's file."""
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
    """The rounds as one profile; a stage took 0 s in a round that did not enter it."""
    names = list(dict.fromkeys(name for answer in rounds for name in answer["stages"]))
    nothing = (0.0, None, 0.0)
    stages: list[StageFigures] = []
    for name in names:
        own, times, beside = zip(*(answer["stages"].get(name, nothing) for answer in rounds), strict=True)
        operators, flops, moved = counts.get(name) or (None, None, None)
        stages.append(
            StageFigures(
                stage=name,
                samples_s=own,
                entered=max((count for count in times if count is not None), default=None),
                operators=operators,
                flops=flops,
                bytes=moved,
                beside_s=beside if any(beside) else (),
            )
        )
    return Profile(tuple(answer["plain_s"] for answer in rounds), tuple(stages))
