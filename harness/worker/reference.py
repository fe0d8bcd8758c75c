"""Evaluation of references in double precision, on all rows or on sampled rows.

References of GPU cases are evaluated on the GPU if their framework can, because rows of a long sequence take
seconds on the host. Both use IEEE f64, so only the summation order differs.
"""

import math
import traceback
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from harness.catalog.build import signature_of
from harness.catalog.family import Semantics
from harness.core.errors import Unsupported
from harness.worker import array_files
from harness.worker.frameworks.base import Framework, TraceLimits

FEW, MORE = 8, 64  # rows of the two evaluations that measure a reference's cost


class ReferenceBudget(NamedTuple):
    """Time budget of a reference: all rows within `whole_s` seconds, else at least `least` rows."""

    whole_s: float
    least: int


BUDGET_BEFORE_TIMING = ReferenceBudget(1.0, MORE)
# Smaller during timing, because all cases wait. A memoized result is wrong in every row of new values.
BUDGET_DURING_TIMING = ReferenceBudget(0.25, 16)


class RowCost(NamedTuple):
    """A reference's cost, linear in the rows: fixed seconds, and seconds per row."""

    fixed_s: float
    row_s: float


def measure_cost(
    count: int, tile: int, seconds: Callable[[Any], float], seed: Callable[[], np.random.Generator]
) -> RowCost | None:
    """Fit the cost to two timed evaluations, `seconds(rows)`; None if `count` is too small for two."""
    few, more = choose_rows(count, tile, FEW, seed()), choose_rows(count, tile, MORE, seed())
    if len(more) >= count:
        return None
    seconds(few)  # untimed: the first evaluation also loads code
    few_s, more_s = seconds(few), seconds(more)
    row_s = max((more_s - few_s) / max(1, len(more) - len(few)), 1e-9)
    return RowCost(max(0.0, few_s - row_s * len(few)), row_s)


def rows_to_check(
    count: int,
    tile: int,
    cost: RowCost | None,
    passes: int,
    budget: ReferenceBudget,
    seed: Callable[[], np.random.Generator],
    most: int | None = None,
) -> Any:
    """Choose sorted rows that take about half of the budget's seconds; None means all `count` rows.

    The reference is evaluated `passes` times, on `most` rows at most, if given. The number of rows is rounded
    to a power of two, so that it seldom differs between runs on one machine.
    """
    if cost is None:
        return None
    affordable = float(count)
    if passes * (cost.fixed_s + cost.row_s * count) > budget.whole_s:
        affordable = max(0.0, budget.whole_s / 2 / passes - cost.fixed_s) / cost.row_s
    if most is not None:
        affordable = min(affordable, most)
    if affordable >= count:
        return None
    if affordable <= budget.least:
        return choose_rows(count, tile, budget.least, seed())
    return choose_rows(count, tile, 2 ** int(math.log2(affordable)), seed())


def choose_rows(count: int, tile: int, wanted: int, random: np.random.Generator) -> Any:
    """Choose sorted rows: first, last, both sides of tile edges (start, middle, end), and random rows."""
    tiles = -(-count // tile)
    edges = {edge * tile for edge in (1, tiles // 2, tiles - 1)} if tile > 1 else set[int]()
    preferred = {row for edge in edges for row in (edge - 1, edge)} | {0, count - 1}
    chosen = np.array(sorted(row for row in preferred if 0 <= row < count))
    rest = np.setdiff1d(np.arange(count), chosen)
    others = random.choice(rest, max(0, min(wanted, count) - len(chosen)), replace=False)
    return np.sort(np.concatenate([chosen, others]))


class Reference:
    """Reference of one semantics, bound to a workload and a set of inputs."""

    def __init__(
        self, semantics: Semantics, framework: Framework, workload: Any, inputs: Mapping[str, Any]
    ) -> None:
        self.semantics = semantics
        self.framework = None if semantics.framework == "numpy" else framework
        self.workload = workload
        self.inputs = inputs
        self.wide: dict[str, Any] = {}
        self.latest: tuple[Any, Any] | None = None  # rows and the result on them

    def result(self, rows: Any) -> Any:
        """The result on `rows` (None means all), cached until other rows are requested."""
        if self.latest is None or not np.array_equal(self.latest[0], rows):
            self.time_result(rows)
        assert self.latest is not None
        return self.latest[1]

    def time_result(self, rows: Any) -> float:
        """Evaluate the result on `rows`, and return the elapsed seconds."""
        begun = perf_counter()
        self.latest = rows, self._evaluate(self.semantics.reference(self.workload, rows))
        return perf_counter() - begun

    def ambiguous(self, rows: Any) -> Any:
        """Mask of the elements that depend on rounding errors only; None if there are none."""
        if self.semantics.ambiguous is None:
            return None
        marks = np.asarray(self._evaluate(self.semantics.ambiguous(self.workload, rows)))
        return marks if marks.any() else None

    def gradients(self, rows: Any, cotangent: Any) -> Any:
        """Gradients with respect to the reference's floating inputs, for the cotangent of its rows."""
        if self.semantics.gradient is None or self.framework is None:
            raise Unsupported(f"semantics {self.semantics.name} has no backward; use mode fwd")
        framework, function = self.framework, self.semantics.reference(self.workload, rows)

        def differentiate() -> Any:
            names, arguments = self._arguments(function)
            framework.enter("bwd", wide=True)
            prepared = framework.prepare(function, names, {}, "bwd", TraceLimits(0, 0))
            return framework.get(prepared.bind(arguments, framework.put(cotangent))()["gradients"])

        return self._run(differentiate)

    def _arguments(self, function: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
        if not callable(function):
            raise TypeError(f"it returns {type(function).__name__}; return a callable over the inputs")
        names = tuple(name for name in signature_of(function).parameters if name in self.inputs)
        for name in names:
            if name not in self.wide:
                wide = array_files.map_leaves(self.inputs[name], widen)
                self.wide[name] = self.framework.put(wide) if self.framework else wide
        return names, {name: self.wide[name] for name in names}

    def _evaluate(self, function: Any) -> Any:
        framework = self.framework
        if framework is None:
            return array_files.map_leaves(function(**self._arguments(function)[1]), _numbers)

        def evaluate() -> Any:
            framework.enter("fwd", wide=True)
            return framework.get(function(**self._arguments(function)[1]))

        return self._run(evaluate)

    def _run(self, evaluate: Callable[[], Any]) -> Any:
        """Evaluate on the framework's device, or on the host if that fails, for example without memory."""
        try:
            return evaluate()
        except Exception as error:  # each framework has its own device errors
            if isinstance(error, Unsupported) or self.framework is None or not self.framework.move_to_host():
                raise
            print("the reference is evaluated on the cpu, because the device failed:", flush=True)
            traceback.print_exc()
        self.wide.clear()
        self.framework.release_memory()
        return evaluate()


def _numbers(leaf: Any) -> Any:
    """A part of a reference's result as an array. TypeError if it is not numeric, for example None."""
    array = np.asarray(leaf)
    array_files.require_numbers(array)
    return array


def widen(leaf: Any) -> Any:
    """Convert floating values to f64 and complex ones to c128; others are unchanged."""
    if leaf.dtype.kind == "c":
        return leaf.astype(np.complex128)
    return leaf if leaf.dtype.kind in "iub" else leaf.astype(np.float64)
