"""Verification of a case's result against the reference, and of its inputs against those it was given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.catalog.contract import Contract, Evidence, Judgement, paired_leaves, require_judgement
from harness.catalog.family import Semantics
from harness.core.errors import FamilyFault, Unsupported
from harness.worker import array_files

COMPARED_BYTES = 1 << 24
RETURNED = "returned"  # the entry of a handed-over result with its checksums at the time of return


@dataclass(frozen=True)
class Expected:
    """A reference's answer to one set of inputs.

    `rows` are the rows of axis 1 in `result` and `ambiguous`, None for all `count` of them.
    `gradients` are under the contract's cotangent, None in mode `fwd`.
    """

    result: Any
    rows: Any = None
    count: int | None = None
    ambiguous: Any = None
    gradients: Mapping[str, Any] | None = None

    def whole_shape(self, leaf: Any) -> tuple[int, ...]:
        """The shape of a part of the whole result, given that part with the chosen rows only."""
        if self.rows is None or self.count is None:
            return tuple(leaf.shape)
        return (leaf.shape[0], self.count, *leaf.shape[2:])

    def floating_leaves(self) -> list[Any]:
        """The floating parts, which have cotangents."""
        return [leaf for leaf in array_files.leaves(self.result) if leaf.dtype.kind in "fV"]  # V is bfloat16

    def masked_cotangent(self, seeds: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """(whole, rows): a drawn cotangent, zero where nothing is judged, and its judged rows in f64."""
        whole, rows = [], []
        for seed in seeds:
            part = np.array(seed if self.rows is None else seed[:, self.rows])
            marks = self.ambiguous
            if marks is not None and part.shape[: marks.ndim] == marks.shape:
                part[marks] = 0
            full = np.zeros(seed.shape, seed.dtype)
            full[... if self.rows is None else (slice(None), self.rows)] = part
            whole.append(full)
            rows.append(part.astype(np.float64))
        return tuple(whole), tuple(rows)


def draw_cotangents(expected: Expected, dtype: Any, random: np.random.Generator) -> tuple[Any, ...]:
    """A cotangent for every floating part of the whole result: normal, rounded to the inputs' dtype."""
    floating = expected.floating_leaves()
    if not floating:
        raise Unsupported("a result without floating parts has no backward; use mode fwd")
    return tuple(random.standard_normal(expected.whole_shape(leaf)).astype(dtype) for leaf in floating)


def judge(
    meaning: Semantics, expected: Expected, handed: Any, mode: str, workload: Any, inputs: Mapping[str, Any]
) -> Judgement:
    """The verdict on a case's output (`handed`): its result, its gradients, or both."""
    parts: list[Judgement] = []
    if mode != "bwd":
        result = handed if mode == "fwd" else handed["result"]
        parts.append(_judge_result(meaning, expected, result, workload, inputs))
    if mode != "fwd":
        parts.append(_judge_gradients(meaning, expected, handed["gradients"], workload, inputs))
    figures = {name: value for part in parts for name, value in part.figures.items()}
    reason = next((part.reason for part in parts if not part.passed), "")
    return Judgement(all(part.passed for part in parts), figures, reason)


def judge_return(verdict: Judgement, handed: Mapping[str, Any]) -> Judgement:
    """The same verdict, but failed if the result has changed since its call returned.

    A result that is filled later was not computed under the clock; one in memory that later calls reuse
    cannot be kept by a caller.
    """
    if RETURNED not in handed or handed[RETURNED].tolist() == array_files.checksums(handed["result"]):
        return verdict
    text = "its answer was another one when the call returned; fill it before returning, in memory of its own"
    return Judgement(False, verdict.figures, text)


def changed_input(inputs: Mapping[str, Any], handed: Mapping[str, Any]) -> str | None:
    """The name of an input whose values a case has changed; None if there is none."""
    for name, mine in handed.items():
        pairs = zip(array_files.leaves(mine), array_files.leaves(inputs[name]), strict=True)
        if not all(_same_bytes(leaf, original.astype(leaf.dtype, copy=False)) for leaf, original in pairs):
            return name
    return None


def _same_bytes(left: Any, right: Any) -> bool:
    """Whether two arrays of one dtype have the same bytes; compared in pieces, without copies."""
    if left.shape != right.shape:
        return False
    # By bytes, so that a NaN equals itself and −0 differs from 0.
    mine, theirs = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (left, right))
    pieces = (slice(start, start + COMPARED_BYTES) for start in range(0, mine.size, COMPARED_BYTES))
    return all(np.array_equal(mine[piece], theirs[piece]) for piece in pieces)


def _judge_result(
    meaning: Semantics, expected: Expected, result: Any, workload: Any, inputs: Mapping[str, Any]
) -> Judgement:
    if expected.rows is not None:
        shapes = [tuple(leaf.shape) for leaf in array_files.leaves(result)]
        expected_shapes = [expected.whole_shape(leaf) for leaf in array_files.leaves(expected.result)]
        if shapes != expected_shapes:
            laid_out = f", with axes {meaning.layout}" if meaning.layout else ""
            text = f"the result has the shapes {shapes}; the reference has {expected_shapes}{laid_out}"
            return Judgement(False, {"mismatches": None}, text)
        result = array_files.map_leaves(result, lambda leaf: leaf[:, expected.rows])
    evidence = Evidence(
        workload, inputs, result, expected.result, expected.rows, expected.ambiguous, meaning.layout
    )
    return _ask_contract(meaning.contract, evidence)


def _ask_contract(contract: Contract, evidence: Evidence) -> Judgement:
    """A contract's verdict. Its family is blamed where it raises over a result of the reference's form."""
    try:
        return require_judgement(contract.judge(evidence))
    except Exception as error:
        if isinstance(error, Unsupported) or paired_leaves(evidence)[1] is not None:
            raise
        raise FamilyFault from error


def _judge_gradients(
    meaning: Semantics, expected: Expected, gradients: Any, workload: Any, inputs: Mapping[str, Any]
) -> Judgement:
    """Judge the gradients that both have: reference and case may take different forms of one input."""
    references = expected.gradients or {}
    common = [name for name in references if name in gradients]
    if meaning.gradient is None or not common:
        text = "none of its gradients is one that the reference has, so nothing can be judged"
        return Judgement(False, {}, text)
    mine, theirs = ({name: tree[name] for name in common} for tree in (gradients, references))
    verdict = _ask_contract(meaning.gradient, Evidence(workload, inputs, mine, theirs))
    figures = {f"gradient_{name}": value for name, value in verdict.figures.items()}
    return Judgement(verdict.passed, figures, f"gradient of {verdict.reason}" if verdict.reason else "")
