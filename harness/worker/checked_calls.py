"""Untimed calls of an implementation for a family's checks: on other inputs, or for another workload."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.catalog.build import Built, build_callable
from harness.worker import array_files
from harness.worker.frameworks.base import Framework, Patience, Prepared


class CheckedCalls:
    """Calls of `prepared`, or of the case for another workload; `enter` restores process-wide settings."""

    def __init__(
        self, framework: Framework, built: Built, prepared: Prepared, enter: Callable[[], None]
    ) -> None:
        self.framework, self.built, self.prepared, self.enter = framework, built, prepared, enter
        self.others: dict[Any, tuple[tuple[str, ...], Prepared]] = {}  # by workload

    def answer(self, inputs: Mapping[str, Any], cotangent: Any) -> Any:
        """The result on these numpy arrays, as numpy arrays; the cotangent is already on the device."""
        return self._call(self.prepared, inputs, cotangent)

    def solve(self, workload: Any, inputs: Mapping[str, Any]) -> Any:
        """The forward result of the same implementation, built (once) for another workload."""
        self.framework.enter("fwd", wide=getattr(workload, "dtype", None) == "f64")
        try:
            if workload not in self.others:
                self.others[workload] = self._build_for(workload)
            names, prepared = self.others[workload]
            return self._call(prepared, {name: inputs[name] for name in names}, None)
        finally:
            self.enter()

    def _build_for(self, workload: Any) -> tuple[tuple[str, ...], Prepared]:
        implementation = self.built.implementation
        shapes = self.built.family.shapes_of(implementation.semantics, workload)
        options = dict(self.built.case.options)
        function, names = build_callable(implementation, workload, options, shapes)
        return names, self.framework.prepare(function, names, shapes, "fwd", Patience(0, 0))

    def _call(self, prepared: Prepared, inputs: Mapping[str, Any], cotangent: Any) -> Any:
        placed = {name: array_files.map_leaves(value, self.framework.put) for name, value in inputs.items()}
        result = prepared.bind(placed, cotangent)()
        self.framework.sync(result)
        return self.framework.get(result)
