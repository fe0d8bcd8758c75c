"""Evaluating a reference in double precision, on the whole result or on some rows of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.catalog.family import Semantics
from harness.measure import trees
from harness.measure.frameworks import Framework
from harness.spec.errors import Unsupported


class Reference:
    """One semantics' reference, bound to a workload and its first set of inputs."""

    def __init__(
        self, meaning: Semantics, framework: Framework, workload: Any, inputs: Mapping[str, Any]
    ) -> None:
        self.meaning = meaning
        self.framework = framework if meaning.framework != "numpy" else None
        self.workload = workload
        self.inputs = inputs
        self.wide: dict[str, Any] = {}

    def result(self, rows: Any) -> Any:
        return self._evaluate(self.meaning.reference(self.workload, rows))

    def ambiguous(self, rows: Any) -> Any:
        """Where arithmetic error alone may decide; None where the semantics has no such place."""
        if self.meaning.ambiguous is None:
            return None
        marks = np.asarray(self._evaluate(self.meaning.ambiguous(self.workload, rows)))
        return marks if marks.any() else None

    def gradients(self, rows: Any, cotangent: Any) -> Any:
        """Gradients of all floating inputs the reference names, under the cotangent of its rows."""
        if self.meaning.gradient is None or self.framework is None:
            raise Unsupported(f"semantics {self.meaning.name} has no backward; use mode fwd")
        function = self.meaning.reference(self.workload, rows)
        bind = getattr(self.framework, "bind", None)
        if bind is None:
            raise Unsupported(f"references in {self.meaning.framework} have no backward; write it in torch")
        names, arguments = self._arguments(function)
        import torch

        torch.set_grad_enabled(True)
        call = bind(function, names, "bwd", arguments, self.framework.put(cotangent))
        return self.framework.get(call()["gradients"])

    def _arguments(self, function: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
        names = tuple(name for name in inspect.signature(function).parameters if name in self.inputs)
        for name in names:
            if name not in self.wide:
                wide = trees.map_leaves(self.inputs[name], widen)
                self.wide[name] = self.framework.put(wide) if self.framework else wide
        return names, {name: self.wide[name] for name in names}

    def _evaluate(self, function: Any) -> Any:
        _, arguments = self._arguments(function)
        if self.framework is None:
            return trees.map_leaves(function(**arguments), np.asarray)
        import torch

        with torch.no_grad():
            return self.framework.get(function(**arguments))


def widen(leaf: Any) -> Any:
    """Floating values as f64, complex ones as c128, others as they are."""
    if leaf.dtype.kind == "c":
        return leaf.astype(np.complex128)
    return leaf if leaf.dtype.kind in "iub" else leaf.astype(np.float64)


def choose_rows(count: int, tile: int, wanted: int, random: np.random.Generator) -> Any:
    """Sorted rows: first, last, both sides of tile edges near the start, middle and end, and random ones."""
    tiles = max(1, count // tile)
    edges = {edge * tile for edge in (1, tiles // 2, tiles - 1) if tile > 1}
    chosen = {0, count - 1} | edges | {edge - 1 for edge in edges}
    chosen = {row for row in chosen if 0 <= row < count}
    rest = random.permutation(count)[: max(0, min(wanted, count) - len(chosen))]
    return np.array(sorted(chosen | {int(row) for row in rest}))
