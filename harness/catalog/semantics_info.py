"""Description of a family's semantics for a list: contracts, and inputs by shape; nothing is drawn.

Built-in families are described in this process. A plugin's import may do anything, so its family is described
in a child process: `python -m harness.catalog.semantics_info QUESTION` answers as JSON.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from harness.catalog import child_process, loading
from harness.catalog.catalog import FamilyInfo
from harness.catalog.contract import Contract, leaves
from harness.catalog.family import Family, Semantics
from harness.core.errors import Unsupported

SECONDS = 60.0
Point = Mapping[str, Any]


def semantics_info(family: FamilyInfo, points: Sequence[Point]) -> list[dict[str, Any]]:
    """What :func:`describe_semantics` says of a registered family. NoAnswer where its code says nothing."""
    question = {"module": family.module, "family": family.name, "points": points}
    if family.module.startswith("impls."):
        return _answer(question)
    return child_process.ask([__spec__.name, json.dumps(question)], SECONDS)


def describe_semantics(family: Family, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Every semantics: its contract, and its inputs at a point of the workload.

    The point is the first of `points` for which the family's shapes and the semantics' `refuse` say that it
    is defined; without one, `reason` says why. An input has `name` (its path), `shape`, and `dtype` (`f32`).
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
    reason = "no suite of bench.yaml measures this family"
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


def _answer(question: Mapping[str, Any]) -> list[dict[str, Any]]:
    family = loading.family_called(loading.load(question["module"]), question["family"])
    return describe_semantics(family, question["points"])


if __name__ == "__main__":
    child_process.answer(lambda: _answer(json.loads(sys.argv[1])))
