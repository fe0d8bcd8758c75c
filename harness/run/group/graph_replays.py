"""CUDA graphs: after the samples, rounds of eager calls and of graph replays of the same call.

A failure costs a case none of its other figures: where a call cannot be captured, or a replay is wrong, a
warning says why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.core.errors import Unsupported
from harness.core.record import NO_GRAPH, GraphReplays
from harness.run.case.case_state import CaseState
from harness.run.group.extra_rounds import take_rounds
from harness.run.group.group_context import GroupContext
from harness.run.group.verification import Verifier
from harness.run.processes.executor import Ended

FRESH = "fresh-replay"  # the inputs on which a replay is verified


def replay_graphs(context: GroupContext, verifier: Verifier, states: Sequence[CaseState]) -> None:
    """Capture the cases, verify a replay of each, and time eager calls and replays in shuffled rounds."""
    captured = {state.id: answer for state in states if (answer := _capture(context, verifier, state))}
    taken = take_rounds(
        context,
        [state for state in states if state.id in captured],
        "replay",
        lambda state: _ask(context, state, "replay", inner=state.setup.inner),
    )
    for state in (each for each in states if each.id in taken):
        graphs = GraphReplays(
            replay_s=tuple(each["replay_s"] for each in taken[state.id]),
            eager_s=tuple(each["eager_s"] for each in taken[state.id]),
            **captured[state.id],
        )
        state.extras = replace(state.extras, graphs=graphs)


def _capture(context: GroupContext, verifier: Verifier, state: CaseState) -> Mapping[str, Any] | None:
    """How a replay is timed; None if the call cannot be captured, or its replay is wrong."""
    context.run.listener.case_state(state.id, "CUDA graph")
    cotangent = None if state.case.mode == "fwd" else "cotangent0"
    answer = _ask(context, state, "capture", cotangent=cotangent)
    if answer is None:
        return None
    try:
        verifier.references(state).draw_fresh(FRESH, state)
    except (Unsupported, Ended) as end:
        state.warn(f"{NO_GRAPH}: its replay cannot be judged ({end})")
        return None

    def ask(result: str) -> Mapping[str, Any] | None:
        fresh = verifier.references(state).fresh(state, FRESH, result)
        return _ask(context, state, "replay", inner=1, fresh=fresh)

    eager = state.correctness
    replayed, reason = verifier.judge_call(state, FRESH, ask)
    if not state.living or replayed is None:
        return None
    state.correctness = eager  # the record's times are those of eager calls
    if reason:
        state.warn(f"{NO_GRAPH}: a replay on inputs that no call had seen is wrong ({reason})")
        return None
    return answer


def _ask(context: GroupContext, state: CaseState, verb: str, **arguments: Any) -> Mapping[str, Any] | None:
    """The answer of a case's worker; None, with a warning, where there is none."""
    try:
        return context.ask_or_raise(state, "graphs", verb, **arguments)
    except (Unsupported, Ended) as end:
        state.warn(f"{NO_GRAPH}: {end}")
        return None
