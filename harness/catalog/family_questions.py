"""Queries to a family's own code: a model's workload, analytic costs, and descriptions of its semantics.

A plugin's import may do anything, so its code runs in a child process:
`python -m harness.catalog.family_questions WHAT QUESTION` prints the answer as JSON.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.catalog import child_process, loading
from harness.catalog.catalog import FamilyInfo
from harness.catalog.contract import Contract, leaves
from harness.catalog.family import Family, Semantics
from harness.catalog.models import PHASES, ModelWorkload, model
from harness.core.errors import MachineError, Unsupported, UsageError
from harness.core.plain_data import from_plain
from harness.core.record import Cost
from harness.core.workload import Value

SECONDS = 60.0
AT_ONCE = 500  # costs per child: its command line passes the questions
Point = Mapping[str, Any]


class NotDerivableError(UsageError):
    """A family derives no workload from a model; the message is the reason."""


def derive(family: FamilyInfo, name: str, phase: str) -> ModelWorkload:
    """A model's workload in a phase. NotDerivableError if the family derives none."""
    try:
        return from_plain(ModelWorkload, _ask_family("workload", family, model=name, phase=phase))
    except child_process.NoAnswer as error:
        raise NotDerivableError(str(error)) from None


def _derive(question: Mapping[str, str]) -> ModelWorkload:
    family, preset = _family(question), model(question["model"])
    if family.of_model is None:
        raise NotDerivableError(f"{family.name} does not depend on a model; leave the model out")
    try:
        return family.of_model(preset, PHASES[question["phase"]])
    except Unsupported as error:
        raise NotDerivableError(f"{family.name} of {preset.name}: {error}") from None


@dataclass(frozen=True)
class CostQuestion:
    """The cost of a family's semantics at a workload; `module` declares the family."""

    module: str
    family: str
    semantics: str
    workload: tuple[tuple[str, Value], ...]


def costs(questions: Sequence[CostQuestion]) -> list[Cost | str]:
    """The least work for each question, or the reason for none. MachineError if a family's code fails."""
    answers: list[Cost | str] = []
    for start in range(0, len(questions), AT_ONCE):
        try:
            replies = _ask("costs", [asdict(question) for question in questions[start : start + AT_ONCE]])
        except child_process.NoAnswer as error:
            raise MachineError(f"the families' costs cannot be computed: {error}") from None
        answers += [reply if isinstance(reply, str) else Cost(**reply) for reply in replies]
    return answers


def _cost(question: Mapping[str, Any]) -> dict[str, Any] | str:
    family = _family(question)
    try:
        workload = family.workload(**dict(question["workload"]))
        family.shapes_of(question["semantics"], workload)
        return asdict(family.cost_of(question["semantics"], workload))
    except Unsupported as refusal:
        return str(refusal)


def semantics_info(family: FamilyInfo, points: Sequence[Point]) -> list[dict[str, Any]]:
    """The result of :func:`describe_semantics` for a registered family. NoAnswer if its code fails."""
    return _ask_family("semantics", family, points=points)


def describe_semantics(family: Family, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Describe every semantics: its contract, and its inputs at one workload, without drawing them.

    The workload is the first of `points` that the family's `shapes` and the semantics' `refuse` accept. If
    there is none, `reason` says why. An input has `name` (its path), `shape`, and `dtype` (`f32`).
    """
    return [_describe(family, meaning, points) for meaning in family.semantics.values()]


def _describe(family: Family, meaning: Semantics, points: Sequence[Point]) -> dict[str, Any]:
    fields = {
        "name": meaning.name,
        "sentence": meaning.sentence,
        "reference": meaning.framework,
        "contract": _contract_text(meaning.contract),
        "gradient": meaning.gradient and _contract_text(meaning.gradient),
        "layout": meaning.layout,
    }
    reason = "bench.yaml has no suite of this family"
    for point in points:
        try:
            inputs = _inputs(family, meaning, family.workload(**point))
        except Exception as error:  # a family's code may raise anything
            reason = str(error) if isinstance(error, Unsupported) else f"{type(error).__name__}: {error}"
        else:
            return {**fields, "point": point, "inputs": inputs, "reason": ""}
    return {**fields, "point": None, "inputs": [], "reason": reason}


def _inputs(family: Family, meaning: Semantics, workload: Any) -> list[dict[str, Any]]:
    shapes = leaves(dict(family.shapes_of(meaning.name, workload)))
    return [{"name": name, "dtype": array.dtype, "shape": array.shape} for name, array in shapes]


def _contract_text(contract: Contract) -> str:
    return f"{contract.name}: {contract.bound}" if contract.bound else contract.name


def _family(question: Mapping[str, Any]) -> Family:
    return loading.family_called(loading.load(question["module"]), question["family"])


def _ask_family(what: str, family: FamilyInfo, **about: object) -> Any:
    """The answer of a family's own code, which runs in this process if the family is built in."""
    question = {"module": family.module, "family": family.name, **about}
    return ANSWERS[what](question) if family.module.startswith("impls.") else _ask(what, question)


def _ask(what: str, question: object) -> Any:
    return child_process.ask([__spec__.name, what, json.dumps(question)], SECONDS)


ANSWERS: Mapping[str, Callable[[Any], Any]] = {
    "workload": lambda question: asdict(_derive(question)),
    "costs": lambda questions: [_cost(question) for question in questions],
    "semantics": lambda question: describe_semantics(_family(question), question["points"]),
}

if __name__ == "__main__":
    child_process.answer(lambda: ANSWERS[sys.argv[1]](json.loads(sys.argv[2])))
