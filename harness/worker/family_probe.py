"""Description of a family's semantics: `python -m harness.worker.family_probe QUESTION`; both are JSON.

The shape of a result is found by evaluating the reference on drawn inputs, on one row where it can.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.catalog import child_process, loading
from harness.catalog.contract import Contract, array_kind, leaves
from harness.catalog.family import Family, Semantics
from harness.core.errors import Unsupported
from harness.core.machine import usable_cores
from harness.worker.frameworks import base as frameworks
from harness.worker.reference import Reference

Point = Mapping[str, Any]


def describe_semantics(family: Family, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Every semantics: its contract, and its inputs and result at a point of the workload.

    The point is the first of `points` for which the semantics is defined; without one, `reason` says why. An
    array has `name` (its path), `shape`, and `dtype`: an input's short name (`f32`), or for a result its kind
    (floating, integer, boolean, complex), which is all that most contracts check.
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
            return {
                **fields,
                "point": point,
                **_arrays(family, meaning, family.workload(**point)),
                "reason": "",
            }
        except Exception as error:  # a reference may raise anything, also for lack of what another point has
            reason = str(error) if isinstance(error, Unsupported) else f"{type(error).__name__}: {error}"
    return {**fields, "point": None, "inputs": [], "result": [], "reason": reason}


def _contract_text(contract: Contract) -> str:
    return f"{contract.name}: {contract.bound}" if contract.bound else contract.name


def _arrays(family: Family, meaning: Semantics, workload: Any) -> dict[str, Any]:
    shapes = family.shapes_of(meaning.name, workload)
    framework = frameworks.get(meaning.framework)
    framework.start("cpu", usable_cores(), wide=True)
    inputs = family.inputs(workload, np.random.default_rng(0))
    rows = [] if family.rows is None else [family.rows(workload)]
    answer = Reference(meaning, framework, workload, inputs).result(np.array([0]) if rows else None)
    return {
        "inputs": [{"name": name, "dtype": a.dtype, "shape": a.shape} for name, a in leaves(dict(shapes))],
        "result": [
            {
                "name": name,
                "dtype": array_kind(a),
                "shape": [*a.shape[:1], *(rows or a.shape[1:2]), *a.shape[2:]],
            }
            for name, a in leaves(answer)
        ],
    }


def _answer(question: Mapping[str, Any]) -> list[dict[str, Any]]:
    family = loading.family_called(loading.load(question["module"]), question["family"])
    return describe_semantics(family, question["points"])


if __name__ == "__main__":
    child_process.answer(lambda: _answer(json.loads(sys.argv[1])))
