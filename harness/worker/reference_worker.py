"""The reference process of a group: it draws the inputs, computes references, and verifies results.

Verifying happens here and not in the case's own process, so that neither the case's memory limit
nor anything it does to its interpreter touches the verdict.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

from harness.catalog import loading
from harness.catalog.arrays import FLOATING, Array, nbytes, short_name
from harness.catalog.build import find, with_own_semantics
from harness.catalog.family import Family
from harness.core.plain_data import plain
from harness.core.protocol import Job
from harness.worker import array_files, resource_limits
from harness.worker.frameworks import base as frameworks
from harness.worker.reference import Reference
from harness.worker.row_sampling import rows_to_judge
from harness.worker.verify import Expected, draw, judge

ROWS, COTANGENTS = 1_000_000, 2_000_000  # random streams beside those of the sets of inputs


class ReferenceWorker:
    """Answers `inputs`, `reference` and `judge`."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.folder = Path(job.folder)
        self.framework = frameworks.get(job.framework)
        self.expected: dict[str, Expected] = {}

    def _random(self, index: int) -> np.random.Generator:
        """The same numbers for every process, run and machine that has this seed and group."""
        return np.random.default_rng([self.job.seed, index, zlib.crc32(self.job.group.encode())])

    def do_inputs(self, sets: int) -> dict[str, Any]:
        """Draw `sets` sets of inputs; the first is the one that contracts are judged on.

        With 0 none is drawn: another reference worker of the group has done so.
        """
        self.framework.start("cpu", self.job.threads, wide=True)
        resource_limits.cap_memory(self.job.memory_bytes)
        module = loading.load(self.job.module)
        declared = family(module, self.job.case.implementation)
        self.family = with_own_semantics(declared, loading.implementations_in(module))
        self.workload = self.family.workload(**dict(self.job.case.workload))
        shapes = self.family.shapes(self.workload)
        for index in range(sets):
            drawn = self.family.inputs(self.workload, self._random(index))
            if describe_arrays(drawn) != shapes:
                raise ValueError(f"family {self.family.name} draws other inputs than its shapes() describes")
            array_files.write(self.folder / f"set{index}", drawn)
        self.inputs = array_files.read(self.folder / "set0")
        return {"bytes": nbytes(self.inputs)}

    def do_reference(self, semantics: str, sets: int) -> dict[str, Any]:
        """Compute the reference on the first set, whole or on rows, and the cotangents of a backward."""
        meaning = self.family.semantics[semantics]
        reference = Reference(meaning, self.framework, self.workload, self.inputs)
        start = perf_counter()
        count = self.family.rows(self.workload) if self.family.rows else None
        rows = self._rows(reference, count)
        expected = Expected(reference.result(rows), rows, count, reference.ambiguous(rows))
        require_rows(expected)
        if self.job.case.mode != "fwd":
            seeds = self._cotangents(semantics, expected, sets)
            expected = replace(expected, gradients=reference.gradients(rows, seeds))
        self.expected[semantics] = expected
        coverage = "whole" if rows is None else "rows"
        return {"coverage": coverage, "seconds": perf_counter() - start}

    def _rows(self, reference: Reference, count: int | None) -> Any:
        if count is None:
            return None

        def seconds(rows: Any) -> float:
            start = perf_counter()
            reference.result(rows)
            return perf_counter() - start

        passes = 1 if self.job.case.mode == "fwd" else 4  # a gradient costs about three forwards
        tile = self.family.tile(self.workload)
        return rows_to_judge(count, tile, seconds, passes, lambda: self._random(ROWS))

    def _cotangents(self, semantics: str, expected: Expected, sets: int) -> tuple[Any, ...]:
        """Write a cotangent per set, and the contract's; the rows of the contract's, in f64."""
        floating = (
            leaf.dtype for leaf in array_files.leaves(self.inputs) if short_name(leaf.dtype) in FLOATING
        )
        dtype = next(floating, np.dtype(np.float32))
        drawn = [draw(expected, dtype, self._random(COTANGENTS + index)) for index in range(sets)]
        for index, seeds in enumerate(drawn):
            array_files.write(self.folder / f"cotangent{index}", seeds)
        whole, rows = expected.cotangent(drawn[0])
        array_files.write(self.folder / f"cotangent-{semantics}", whole)
        return rows

    def do_judge(self, semantics: str, result: str) -> dict[str, Any]:
        """Judge a case's result by its contract; the result's folder is removed."""
        meaning, expected = self.family.semantics[semantics], self.expected[semantics]
        folder = self.folder / result
        try:
            verdict = judge(
                meaning, expected, array_files.read(folder), self.job.case.mode, self.workload, self.inputs
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        contract = meaning.contract if self.job.case.mode == "fwd" else meaning.gradient or meaning.contract
        return {
            "correctness": {
                "contract": contract.name,
                "passed": bool(verdict.passed),
                "coverage": "whole" if expected.rows is None else "rows",
                "figures": {name: plain(value) for name, value in verdict.figures.items()},
            },
            "reason": verdict.reason,
        }


def family(module: ModuleType, implementation: str) -> Family:
    """The family of an implementation, from its own module, else from the implementation's."""
    name = implementation.split("/", 1)[0]
    declared = [candidate for candidate in loading.families_in(module) if candidate.name == name]
    return declared[0] if declared else loading.family_of(find(module, implementation))


def require_rows(expected: Expected) -> None:
    """ValueError unless a reference has the rows that it was asked for, on axis 1 of each part."""
    wanted = expected.count if expected.rows is None else len(expected.rows)
    for leaf in array_files.leaves(expected.result):
        if wanted is not None and leaf.shape[1:2] != (wanted,):
            raise ValueError(
                f"it returns the shape {tuple(leaf.shape)} where axis 1 has {wanted} rows; "
                "of a reference(w, rows) those in rows are wanted, and all where that is None"
            )


def describe_arrays(tree: Any) -> Any:
    """Drawn inputs as `shapes` describes them."""
    if isinstance(tree, Mapping):
        return {name: describe_arrays(branch) for name, branch in tree.items()}
    return Array(tuple(tree.shape), short_name(tree.dtype))
