"""The process beside a group's cases: it draws the inputs, computes references, and judges.

Judging happens here and not in the case's own process, so that neither the case's memory limit
nor anything it does to its interpreter touches the verdict.
"""

from __future__ import annotations

import dataclasses
import shutil
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from harness.catalog import source
from harness.catalog.contract import Evidence, Judgement
from harness.catalog.family import Semantics
from harness.measure import frameworks, limits, trees
from harness.measure.bench import find
from harness.measure.reference import Reference, choose_rows
from harness.spec.protocol import Job

ROWS, COTANGENTS = 1_000_000, 2_000_000  # random streams beside those of the sets of inputs
WHOLE_SECONDS = 5.0  # references expected to take longer are computed on chosen rows only


@dataclasses.dataclass(frozen=True)
class Expected:
    """A reference's answer, and on which rows."""

    result: Any
    gradients: Any
    rows: Any
    ambiguous: Any


class Desk:
    """Answers `inputs`, `reference` and `judge`."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.folder = Path(job.folder)
        self.framework = frameworks.get(job.framework)
        self.expected: dict[str, Expected] = {}

    def _load(self) -> None:
        self.framework.start("cpu", self.job.threads, wide=True)
        limits.cap_memory(self.job.memory_bytes)
        implementation = find(source.load(self.job.module), self.job.implementation)
        self.family = source.family_of(implementation)
        self.workload = self.family.workload(**self.job.workload)

    def _random(self, index: int) -> np.random.Generator:
        """The same numbers for every process, run and machine that has this seed and group."""
        return np.random.default_rng([self.job.seed, index, zlib.crc32(self.job.group.encode())])

    def do_inputs(self, sets: int) -> dict[str, Any]:
        """Draw `sets` sets of inputs; the first is the one that contracts are judged on."""
        self._load()
        for index in range(sets):
            trees.write(self.folder / f"set{index}", self.family.inputs(self.workload, self._random(index)))
        self.inputs = trees.read(self.folder / "set0")
        return {"bytes": trees.nbytes(self.inputs)}

    def do_reference(self, semantics: str, sets: int) -> dict[str, Any]:
        """Compute the reference on the first set, whole or on rows, and the cotangents of a backward."""
        meaning = self.family.semantics[semantics]
        reference = Reference(meaning, self.framework, self.workload, self.inputs)
        start = time.perf_counter()
        rows = self._rows(reference)
        result, ambiguous = reference.result(rows), reference.ambiguous(rows)
        gradients = None
        if self.job.mode != "fwd":
            seeds = self._cotangents(semantics, result, rows, ambiguous, sets)
            gradients = reference.gradients(rows, seeds)
        self.expected[semantics] = Expected(result, gradients, rows, ambiguous)
        coverage = "whole" if rows is None else "rows"
        return {"coverage": coverage, "seconds": time.perf_counter() - start}

    def _rows(self, reference: Reference) -> Any:
        """None for the whole result where that is quick enough, else chosen rows."""
        if self.family.rows is None:
            return None
        count, tile = self.family.rows(self.workload), self.family.tile(self.workload)
        few, more = (choose_rows(count, tile, wanted, self._random(ROWS)) for wanted in (8, 64))
        if len(more) >= count:
            return None
        self._seconds(reference, few)  # what the first evaluation loads is no cost of a row
        fixed, slope = _line(
            (len(few), self._seconds(reference, few)), (len(more), self._seconds(reference, more))
        )
        passes = 1 if self.job.mode == "fwd" else 4  # a gradient costs about three forwards
        if passes * (fixed + slope * count) <= WHOLE_SECONDS:
            return None
        wanted = int(max(0.0, WHOLE_SECONDS / 2 / passes - fixed) / slope)
        return choose_rows(count, tile, max(len(more), wanted), self._random(ROWS))

    def _seconds(self, reference: Reference, rows: Any) -> float:
        start = time.perf_counter()
        reference.result(rows)
        return time.perf_counter() - start

    def _cotangents(self, semantics: str, result: Any, rows: Any, ambiguous: Any, sets: int) -> Any:
        """Write the cotangents; the contract's is zero wherever nothing is judged.

        Returns the contract's on the reference's rows.
        """
        whole = list(result.shape)
        if rows is not None and self.family.rows is not None:
            whole[1] = self.family.rows(self.workload)
        dtype = trees.leaves(self.inputs)[0].dtype
        for index in range(sets):
            seed = self._random(COTANGENTS + index).standard_normal(whole).astype(dtype)
            if not (self.folder / f"cotangent{index}").exists():
                trees.write(self.folder / f"cotangent{index}", seed)
        seed = np.array(trees.read(self.folder / "cotangent0"))
        judged = seed if rows is None else seed[:, rows]
        if ambiguous is not None:
            judged[ambiguous] = 0
        if rows is not None:
            seed[:] = 0
            seed[:, rows] = judged
        trees.write(self.folder / f"cotangent-{semantics}", seed)
        return judged.astype(np.float64)

    def do_judge(self, semantics: str, result: str) -> dict[str, Any]:
        """Hold a case's result to its contract; the result's folder is removed."""
        meaning, expected = self.family.semantics[semantics], self.expected[semantics]
        handed = self.folder / result
        try:
            judgement = self._judge(meaning, expected, trees.read(handed))
        finally:
            shutil.rmtree(handed.parent)
        contract = meaning.contract if self.job.mode == "fwd" else meaning.gradient or meaning.contract
        return {
            "correctness": {
                "contract": contract.name,
                "passed": judgement.passed,
                "coverage": "whole" if expected.rows is None else "rows",
                "figures": {name: plain(value) for name, value in judgement.figures.items()},
            },
            "reason": judgement.reason,
        }

    def _judge(self, meaning: Semantics, expected: Expected, handed: Any) -> Judgement:
        parts: list[Judgement] = []
        if self.job.mode != "bwd":
            result = handed if self.job.mode == "fwd" else handed["result"]
            if expected.rows is not None:
                result = trees.map_leaves(result, lambda leaf: leaf[:, expected.rows])
            evidence = Evidence(
                self.workload, self.inputs, result, expected.result, expected.rows, expected.ambiguous
            )
            parts.append(meaning.contract.judge(evidence))
        if self.job.mode != "fwd" and meaning.gradient is not None:
            evidence = Evidence(self.workload, self.inputs, handed["gradients"], expected.gradients)
            parts.append(_prefixed(meaning.gradient.judge(evidence), "gradient"))
        figures = {name: value for part in parts for name, value in part.figures.items()}
        reason = next((part.reason for part in parts if not part.passed), "")
        return Judgement(all(part.passed for part in parts), figures, reason)


def _line(small: tuple[int, float], large: tuple[int, float]) -> tuple[float, float]:
    """(fixed seconds, seconds per row) of the line through two evaluations; neither is negative."""
    slope = max((large[1] - small[1]) / max(1, large[0] - small[0]), 1e-9)
    return max(0.0, small[1] - slope * small[0]), slope


def _prefixed(judgement: Judgement, prefix: str) -> Judgement:
    figures = {f"{prefix}_{name}": value for name, value in judgement.figures.items()}
    return Judgement(judgement.passed, figures, f"{prefix} of {judgement.reason}" if judgement.reason else "")


def plain(value: Any) -> Any:
    """A figure as JSON can hold it; what is not finite becomes its name."""
    number: Callable[[], Any] | None = getattr(value, "item", None)
    value = number() if number else value
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
