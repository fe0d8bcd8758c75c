"""Verification of a case's result against the reference, and of its inputs against the originals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.catalog.contract import Contract, Evidence, Judgement, paired_leaves, require_judgement
from harness.catalog.family import Semantics
from harness.core.errors import FamilyFault, Unsupported
from harness.worker import array_files

COMPARED_BYTES = 1 << 24
RETURNED = "returned"  # entry of a case's output with the result's checksums at the time of return


@dataclass(frozen=True)
class Expected:
    """A reference's result for one set of inputs.

    `rows` are the rows of axis 1 in `result` and `ambiguous`; None means all `count` rows.
    `gradients` are those for the contract's cotangent, None in mode `fwd`.
    """

    result: Any
    rows: Any = None
    count: int | None = None
    ambiguous: Any = None
    gradients: Mapping[str, Any] | None = None

    def whole_shape(self, leaf: Any) -> tuple[int, ...]:
        """The shape of a complete leaf, given that leaf with the chosen rows only."""
        if self.rows is None or self.count is None:
            return tuple(leaf.shape)
        return (leaf.shape[0], self.count, *leaf.shape[2:])

    def floating_leaves(self) -> list[Any]:
        """The floating leaves, which have cotangents."""
        return [leaf for leaf in array_files.leaves(self.result) if leaf.dtype.kind in "fV"]  # V is bfloat16

    def masked_cotangent(self, seeds: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """(whole, rows): a drawn cotangent, zero for unchecked elements, and its checked rows in f64."""
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
    """Draw a cotangent for every floating leaf of the result: normal, rounded to the inputs' dtype."""
    floating = expected.floating_leaves()
    if not floating:
        raise Unsupported("a result without floating parts has no backward; use mode fwd")
    return tuple(random.standard_normal(expected.whole_shape(leaf)).astype(dtype) for leaf in floating)


def judge(
    semantics: Semantics, expected: Expected, output: Any, mode: str, workload: Any, inputs: Mapping[str, Any]
) -> Judgement:
    """Check a case's output against its contracts: its result, its gradients, or both."""
    parts: list[Judgement] = []
    if mode != "bwd":
        result = output if mode == "fwd" else output["result"]
        parts.append(_judge_result(semantics, expected, result, workload, inputs))
    if mode != "fwd":
        parts.append(_judge_gradients(semantics, expected, output["gradients"], workload, inputs))
    figures = {name: value for part in parts for name, value in part.figures.items()}
    reason = next((part.reason for part in parts if not part.passed), "")
    return Judgement(all(part.passed for part in parts), figures, reason)


def judge_return(verdict: Judgement, output: Mapping[str, Any]) -> Judgement:
    """The same verdict, but failed if the result has changed since its call returned.

    A result that is filled later was not computed while it was timed. A caller cannot use a result in memory
    that later calls overwrite.
    """
    if RETURNED not in output or output[RETURNED].tolist() == array_files.checksums(output["result"]):
        return verdict
    text = "the result changed after the call returned; return a complete result in newly allocated memory"
    return Judgement(False, verdict.figures, text)


def changed_input(inputs: Mapping[str, Any], output: Mapping[str, Any]) -> str | None:
    """The name of an input that a case has changed; None if there is none."""
    for name, mine in output.items():
        pairs = zip(array_files.leaves(mine), array_files.leaves(inputs[name]), strict=True)
        if not all(_same_bytes(leaf, original.astype(leaf.dtype, copy=False)) for leaf, original in pairs):
            return name
    return None


def _same_bytes(left: Any, right: Any) -> bool:
    """Whether two arrays of one dtype have the same bytes; compared piecewise, without copies."""
    if left.shape != right.shape:
        return False
    # Bytes, so that a NaN equals itself and −0 differs from 0.
    mine, theirs = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (left, right))
    pieces = (slice(start, start + COMPARED_BYTES) for start in range(0, mine.size, COMPARED_BYTES))
    return all(np.array_equal(mine[piece], theirs[piece]) for piece in pieces)


def _judge_result(
    semantics: Semantics, expected: Expected, result: Any, workload: Any, inputs: Mapping[str, Any]
) -> Judgement:
    if expected.rows is not None:
        shapes = [tuple(leaf.shape) for leaf in array_files.leaves(result)]
        expected_shapes = [expected.whole_shape(leaf) for leaf in array_files.leaves(expected.result)]
        if shapes != expected_shapes:
            laid_out = f", with axes {semantics.layout}" if semantics.layout else ""
            text = f"the result has shapes {shapes}; the reference has {expected_shapes}{laid_out}"
            return Judgement(False, {"mismatches": None}, text)
        result = array_files.map_leaves(result, lambda leaf: leaf[:, expected.rows])
    evidence = Evidence(
        workload, inputs, result, expected.result, expected.rows, expected.ambiguous, semantics.layout
    )
    return _ask_contract(semantics.contract, evidence)


def _ask_contract(contract: Contract, evidence: Evidence) -> Judgement:
    """A contract's verdict. If it raises for a result of the reference's form, the error is its family's."""
    try:
        return require_judgement(contract.judge(evidence))
    except Exception as error:
        if isinstance(error, Unsupported) or paired_leaves(evidence)[1] is not None:
            raise
        raise FamilyFault from error


def _judge_gradients(
    semantics: Semantics, expected: Expected, gradients: Any, workload: Any, inputs: Mapping[str, Any]
) -> Judgement:
    """Check the gradients that reference and case share: they may take different forms of one input."""
    references = expected.gradients or {}
    common = [name for name in references if name in gradients]
    if semantics.gradient is None or not common:
        text = "the reference has none of its gradients, so they cannot be checked"
        return Judgement(False, {}, text)
    mine, theirs = ({name: tree[name] for name in common} for tree in (gradients, references))
    verdict = _ask_contract(semantics.gradient, Evidence(workload, inputs, mine, theirs))
    figures = {f"gradient_{name}": value for name, value in verdict.figures.items()}
    return Judgement(verdict.passed, figures, f"gradient of {verdict.reason}" if verdict.reason else "")
