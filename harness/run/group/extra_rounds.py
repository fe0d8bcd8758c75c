"""Extra rounds of a group after its samples, in which profiles are read."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.core.median_interval import samples_needed
from harness.run.case.case_state import CaseState
from harness.run.group.group_context import GroupContext

MOST_ROUNDS = 30  # their intervals are for shares, not for verdicts

Answers = list[Mapping[str, Any]]


def take_rounds(
    context: GroupContext,
    states: Sequence[CaseState],
    what: str,
    ask: Callable[[CaseState], Mapping[str, Any] | None],
) -> dict[str, Answers]:
    """The answers of each case in shuffled rounds: as many as an interval needs, more while its budget lasts.

    A case for which `ask` returns None, having reported why, is left out. `what` is shown with the round.
    """
    taken: dict[str, Answers] = {state.id: [] for state in states}
    spent = dict.fromkeys(taken, 0.0)
    shuffle = random.Random(f"{context.settings.seed} {context.group.key} {what}")
    open_ = list(states)
    while open_:
        shuffle.shuffle(open_)
        for state in list(open_):
            answers = taken[state.id]
            context.run.listener.case_state(state.id, f"{what} {len(answers) + 1}")
            start = context.run.clock()
            answer = ask(state)
            spent[state.id] += context.run.clock() - start
            if answer is None:
                del taken[state.id]
            else:
                answers.append(answer)
            if answer is None or _enough(len(answers), spent[state.id], context.settings.budget_s):
                open_.remove(state)
    return taken


def _enough(rounds: int, spent_s: float, budget_s: float) -> bool:
    """Whether the rounds suffice for an interval, and another one would exceed the budget."""
    if rounds < samples_needed():
        return False
    return rounds >= MOST_ROUNDS or spent_s * (rounds + 1) / rounds > budget_s
