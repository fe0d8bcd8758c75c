"""Analytic costs of workloads, by the formulas of their families.

A family may be a plugin's, so its formulas run in a child process:
`python -m harness.catalog.analytic_cost QUESTIONS` prints the answers as JSON.
"""

import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.catalog import child_process
from harness.catalog.loading import family_called, load
from harness.core.errors import MachineError, Unsupported
from harness.core.record import Cost
from harness.core.workload import Value

SECONDS = 60.0
AT_ONCE = 500  # questions per child: its command line passes them


@dataclass(frozen=True)
class CostQuestion:
    """The cost of a family's semantics at a workload; `module` declares the family."""

    module: str
    family: str
    semantics: str
    workload: tuple[tuple[str, Value], ...]


def costs(questions: Sequence[CostQuestion]) -> list[Cost | str]:
    """The least work for each question, or why there is none. MachineError if a family's code fails."""
    answers: list[Cost | str] = []
    for start in range(0, len(questions), AT_ONCE):
        batch = [dataclasses.asdict(question) for question in questions[start : start + AT_ONCE]]
        try:
            replies = child_process.ask(["harness.catalog.analytic_cost", json.dumps(batch)], SECONDS)
        except child_process.NoAnswer as error:
            raise MachineError(f"the families' costs are not to be had: {error}") from None
        answers += [reply if isinstance(reply, str) else Cost(**reply) for reply in replies]
    return answers


def _answer(question: Mapping[str, Any]) -> dict[str, Any] | str:
    family = family_called(load(question["module"]), question["family"])
    try:
        workload = family.workload(**dict(question["workload"]))
        family.shapes_of(question["semantics"], workload)
        return dataclasses.asdict(family.cost_of(question["semantics"], workload))
    except Unsupported as refusal:
        return str(refusal)


if __name__ == "__main__":
    child_process.answer(lambda: [_answer(question) for question in json.loads(sys.argv[1])])
