"""Reference worker of a group: draws inputs, evaluates references, and verifies results.

Results are not verified in the case's process, where the memory limit, or changes that the implementation
makes to the interpreter, could affect the verdict.
"""

import shutil
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness.catalog import loading
from harness.catalog.arrays import BYTES, FLOATING, numpy_dtype, short_name, walk
from harness.catalog.bounds import Promise
from harness.catalog.build import with_own_semantics, with_promise
from harness.core.errors import family_code
from harness.core.plain_data import from_plain, plain
from harness.core.protocol import Job
from harness.worker import array_files, resource_limits
from harness.worker.captured_inputs import draw_inputs
from harness.worker.frameworks import base as frameworks
from harness.worker.reference import (
    BUDGET_BEFORE_TIMING,
    BUDGET_DURING_TIMING,
    Reference,
    ReferenceBudget,
    RowCost,
    measure_cost,
    rows_to_check,
)
from harness.worker.verify import Expected, changed_input, draw_cotangents, judge, judge_return

FIRST = "set0"  # inputs of the first call, which the contract check uses
ROWS, COTANGENTS, FRESH = 1_000_000, 2_000_000, 3_000_000  # random streams besides those of the input sets

# A device evaluates a reference quickly, but the host compares its result: 0.1 s for this many values.
VALUES_ON_HOST = 1 << 24

Seed = Callable[[], np.random.Generator]


class ReferenceWorker:
    """Handles the requests `inputs`, `reference`, `fresh` and `judge`."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.folder = Path(job.folder)
        self.framework = frameworks.get(job.framework)
        self.expected: dict[tuple[str, str], Expected] = {}  # by semantics and inputs
        self.costs: dict[str, RowCost | None] = {}  # by semantics
        self.most_rows: dict[str, int] = {}  # by semantics, if a device evaluates the reference
        self.inputs: dict[str, Mapping[str, Any]] = {}

    def _random(self, index: int) -> np.random.Generator:
        """A random generator that is identical in all runs and processes with this seed and group."""
        return np.random.default_rng([self.job.seed, index, zlib.crc32(self.job.group.encode())])

    def do_inputs(self, sets: int, write: bool = True) -> dict[str, Any]:
        """Draw `sets` sets of inputs; the contract check uses the first.

        `write` is false if another reference worker of the group has written them.
        """
        self.device = self.framework.reference_device(self.job.case.device)
        self.framework.start(self.device, self.job.threads, wide=True)
        if self.device == "cpu":  # the cap limits address space, which includes mapped GPU memory
            resource_limits.cap_memory(self.job.memory_bytes)
        module = loading.load(self.job.module)
        declared = loading.family_called(module, self.job.case.implementation.split("/", 1)[0])
        self.family = with_own_semantics(declared, loading.implementations_in(module))
        self.workload = self.family.workload(**dict(self.job.case.workload))
        with family_code():
            self.count = self.family.rows(self.workload) if self.family.rows else None
            self.tile = self.family.tile(self.workload)
        for index in range(sets):
            self._draw(f"set{index}", self._random(index), write=write)
        return {}

    def _draw(self, name: str, random: np.random.Generator, *, write: bool) -> None:
        """Draw inputs, and write them to the folder `name` or use those that another process wrote there."""
        with family_code():
            drawn = draw_inputs(self.family, self.workload, random)
            require_described(self.family.name, drawn, self.family.shapes(self.workload))
        if write:
            array_files.write(self.folder / name, drawn)
        self.inputs[name] = array_files.read(self.folder / name)

    def do_reference(
        self, semantics: str, sets: int, promise: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Evaluate the reference on the first set, on all or some rows, and draw cotangents for a backward.

        A `promise` defines semantics by numbers only, which need no module.
        """
        if promise is not None:
            self.family = with_promise(self.family, semantics, from_plain(Promise, promise))
        reference = self._reference(semantics, FIRST)
        seed = partial(self._random, ROWS)
        if self.count is not None:
            with family_code():
                self.costs[semantics] = measure_cost(self.count, self.tile, reference.time_result, seed)
            if self.device != "cpu" and reference.latest is not None:
                rows, result = reference.latest
                values = sum(leaf.size for leaf in array_files.leaves(result))
                self.most_rows[semantics] = VALUES_ON_HOST * len(rows) // max(1, values)
        expected = self._expect(semantics, reference, BUDGET_BEFORE_TIMING, seed)
        if self.job.case.mode != "fwd":
            for index in range(sets):
                drawn = draw_cotangents(expected, self._dtype(), self._random(COTANGENTS + index))
                array_files.write(self.folder / f"cotangent{index}", drawn)
            expected = self._with_gradients(
                reference, expected, f"cotangent-{semantics}", self._random(COTANGENTS)
            )
        self.expected[semantics, FIRST] = expected
        del reference  # frees its inputs on a device
        self.framework.release_memory()
        return {}

    def do_fresh(self, name: str, seed: int, semantics: str, write: bool) -> dict[str, Any]:
        """Draw new inputs from an unpredictable `seed`, and evaluate their reference.

        Inputs go to the folder `name`, the contract's cotangent to `name`-SEMANTICS. They may already exist
        for other semantics, or another reference worker of the group may have written them.
        """

        def stream(number: int) -> np.random.Generator:
            return np.random.default_rng([seed, number])

        if name not in self.inputs:
            self._draw(name, stream(FRESH), write=write)
        reference = self._reference(semantics, name)
        expected = self._expect(semantics, reference, BUDGET_DURING_TIMING, partial(stream, ROWS))
        if self.job.case.mode != "fwd":
            expected = self._with_gradients(reference, expected, f"{name}-{semantics}", stream(COTANGENTS))
        self.expected[semantics, name] = expected
        del reference
        self.framework.release_memory()
        return {}

    def _reference(self, semantics: str, inputs: str) -> Reference:
        return Reference(self.family.semantics[semantics], self.framework, self.workload, self.inputs[inputs])

    def _expect(self, semantics: str, reference: Reference, budget: ReferenceBudget, seed: Seed) -> Expected:
        """The reference's result: all rows if they fit the budget, else some rows."""
        passes = 1 if self.job.case.mode == "fwd" else 4  # a gradient costs about three forwards
        cost, most = self.costs.get(semantics), self.most_rows.get(semantics)
        rows = rows_to_check(self.count or 0, self.tile, cost, passes, budget, seed, most)
        with family_code():
            expected = Expected(reference.result(rows), rows, self.count, reference.ambiguous(rows))
            require_rows(expected)
        return expected

    def _dtype(self) -> Any:
        """The dtype of cotangents, which is that of the first floating input."""
        dtypes = (leaf.dtype for leaf in array_files.leaves(self.inputs[FIRST]))
        floating = (dtype for dtype in dtypes if short_name(dtype) in FLOATING)
        return next(floating, np.dtype(np.float32))

    def _with_gradients(
        self, reference: Reference, expected: Expected, name: str, random: np.random.Generator
    ) -> Expected:
        """Add the gradients for a drawn cotangent, which is written to the folder `name`."""
        whole, rows = expected.masked_cotangent(draw_cotangents(expected, self._dtype(), random))
        array_files.write(self.folder / name, whole)
        with family_code():
            return replace(expected, gradients=reference.gradients(expected.rows, rows))

    def do_judge(self, semantics: str, inputs: str, result: str) -> dict[str, Any]:
        """Check a case's result on `inputs` against its contract, and remove the result's folder.

        `changed` is the name of an input that the call has changed, if any.
        """
        meaning, expected = self.family.semantics[semantics], self.expected[semantics, inputs]
        given, mode = self.inputs[inputs], self.job.case.mode
        folder = self.folder / result
        try:
            output = array_files.read(folder)
            verdict = judge(meaning, expected, output["result"], mode, self.workload, given)
            verdict = judge_return(verdict, output)
            changed = changed_input(given, output["inputs"])
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
            "changed": changed,
        }


def require_rows(expected: Expected) -> None:
    """Raise ValueError if axis 1 of a reference's result does not have the requested rows."""
    wanted = expected.count if expected.rows is None else len(expected.rows)
    for leaf in array_files.leaves(expected.result):
        if wanted is not None and leaf.shape[1:2] != (wanted,):
            raise ValueError(
                f"it returns shape {tuple(leaf.shape)}, but axis 1 must have {wanted} rows; "
                "return the rows of reference(w, rows), or all rows if rows is None"
            )


def require_described(family: str, drawn: Any, described: Mapping[str, Any]) -> None:
    """Raise ValueError, with both forms, for the first drawn input that differs from `shapes`."""
    mine, theirs = _forms(drawn), _forms(described)
    for name in sorted(theirs | mine):
        if mine.get(name) != theirs.get(name):
            raise ValueError(
                f"the inputs of family {family} differ from its shapes(): "
                f"{name or 'the return value of inputs()'} is {mine.get(name, 'missing')} in inputs(), "
                f"{theirs.get(name, 'missing')} in shapes()"
            )


def _forms(tree: Any) -> dict[str, str]:
    """Dtype and shape (`f32[8, 64]`) of every array by name (`weights.wq`); the type of other leaves."""
    return {".".join(map(str, path)): _form(leaf) for path, leaf in walk(tree)}


def _form(leaf: Any) -> str:
    dtype, shape = getattr(leaf, "dtype", None), getattr(leaf, "shape", None)
    if dtype is None or shape is None:
        return type(leaf).__name__
    short = next((name for name in BYTES if dtype in {name, numpy_dtype(name)}), dtype)
    return f"{short}{list(shape)}"
