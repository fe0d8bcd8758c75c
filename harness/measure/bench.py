"""The process of one case: build, compile, run once for the contract, then read the clock."""

from __future__ import annotations

import dataclasses
import gc
import inspect
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from harness.catalog import source
from harness.catalog.arrays import Shapes, nbytes
from harness.catalog.implementation import Implementation
from harness.measure import frameworks, limits, trees
from harness.measure.frameworks import Patience
from harness.spec.errors import Unsupported
from harness.spec.protocol import Job

SHORT_SECONDS = 0.25  # a first call below this is repeated a while, for a better idea of a call's time


class Bench:
    """Answers `prepare`, `check`, `ready`, `sample`, `recheck` and `finish`, in that order."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.born = time.perf_counter()
        self.folder = Path(job.folder)
        self.framework = frameworks.get(job.framework)
        self.calls: list[Callable[[], Any]] = []
        self.inputs: list[Any] = []
        self.turn = 0

    def do_prepare(self, trace_s: float) -> dict[str, Any]:
        """Load, build and compile or trace; nothing of the workload's size exists yet."""
        job = self.job
        self.framework.start(job.device, job.threads, wide=job.workload.get("dtype") == "f64")
        if job.device == "cpu":
            limits.cap_memory(job.memory_bytes)
        implementation = find(source.load(job.module), job.implementation)
        family = source.family_of(implementation)
        workload = family.workload(**job.workload)
        if job.mode not in family.modes:
            raise Unsupported(f"family {family.name} has no mode {job.mode}; use {', '.join(family.modes)}")
        shapes = family.shapes(workload)
        startup = time.perf_counter() - self.born
        function = implementation(workload, **job.options)
        self.names = named_inputs(function, shapes)
        self.prepared = self.framework.prepare(
            function, self.names, shapes, job.mode, Patience(trace_s, 1000 * job.memory_bytes)
        )
        expect = implementation.expect
        return {
            "static": dataclasses.asdict(self.prepared.static),
            "cost": dataclasses.asdict(family.cost(workload)),
            "expected": bool(expect and expect.when(workload)),
            "expectation": expect.reason if expect else None,
            "input_bytes": nbytes({name: shapes[name] for name in self.names}),
            "startup_s": startup,
        }

    def do_check(self, cotangent: str | None) -> dict[str, Any]:
        """Call it once on the first set; the result goes to a folder for the desk to judge."""
        stored = self._stored("set0")
        inputs = self.framework.put(stored)
        seed = self.framework.put(trees.read(self.folder / cotangent)) if cotangent else None
        call = self.prepared.bind(inputs, seed)
        gc.collect()
        before = limits.resident()
        limits.reset_high_water()
        seconds, result = self._timed(call)
        until = time.perf_counter() + SHORT_SECONDS / 10
        while seconds < SHORT_SECONDS and time.perf_counter() < until:
            seconds = min(seconds, self._timed(call)[0])
        allocator = self.framework.high_water()
        high_water = allocator if allocator is not None else max(0, limits.high_water() - before)
        answer = {"seconds": seconds, "high_water_bytes": high_water, "result": self._hand_over(result)}
        return {**answer, "changed": self._changed(inputs, stored)}

    def do_ready(self, sets: int, cotangents: bool) -> dict[str, Any]:
        """Put every set on the device and bind a call to each; samples rotate over them."""
        for index in range(sets):
            inputs = self.framework.put(self._stored(f"set{index}"))
            seed = trees.read(self.folder / f"cotangent{index}") if cotangents else None
            self.inputs.append(inputs)
            self.calls.append(self.prepared.bind(inputs, None if seed is None else self.framework.put(seed)))
        method, cache, self.read = self.framework.timer()
        gc.collect()
        gc.disable()
        return {"method": method, "cache": cache}

    def do_sample(self, readings: int, inner: int, warm: bool) -> dict[str, Any]:
        """`readings` readings of `inner` calls each, after one untimed call when `warm`."""
        start = time.perf_counter()
        if warm:
            self.framework.sync(self._next()())
        samples = [self.read(self._next(), inner) / inner for _ in range(readings)]
        return {"samples_s": samples, "seconds": time.perf_counter() - start}

    def do_recheck(self, cotangent: str | None) -> dict[str, Any]:
        """Call it on the last set's own storage, refilled with the first set's values.

        An implementation that remembers earlier answers, or has changed its inputs, fails here.
        """
        inputs = self.framework.refill(self.inputs[-1], self._stored("set0"))
        seed = self.framework.put(trees.read(self.folder / cotangent)) if cotangent else None
        _, result = self._timed(self.prepared.bind(inputs, seed))
        return {"result": self._hand_over(result)}

    def do_finish(self) -> dict[str, Any]:
        """What is still running beside the main thread, by name."""
        main = threading.main_thread()
        return {"threads": sorted(thread.name for thread in threading.enumerate() if thread is not main)}

    def _next(self) -> Callable[[], Any]:
        self.turn += 1
        return self.calls[self.turn % len(self.calls)]

    def _timed(self, call: Callable[[], Any]) -> tuple[float, Any]:
        start = time.perf_counter()
        result = call()
        self.framework.sync(result)
        return time.perf_counter() - start, result

    def _stored(self, name: str) -> Any:
        tree = trees.read(self.folder / name)
        return {name: tree[name] for name in self.names}

    def _hand_over(self, result: Any) -> str:
        name = f"result-{id(result)}"
        trees.write(self.folder / name / self.job.framework, self.framework.get(result))
        return f"{name}/{self.job.framework}"

    def _changed(self, inputs: Any, stored: Any) -> str | None:
        """The name of an input whose values are not what they were before the call."""
        for name in self.names:
            mine = trees.leaves(self.framework.get(inputs[name]))
            for leaf, original in zip(mine, trees.leaves(stored[name]), strict=True):
                if not np.array_equal(leaf.view(np.uint8), np.asarray(original).view(np.uint8)):
                    return name
        return None


def find(module: ModuleType, identity: str) -> Implementation:
    name = identity.split("/", 1)[1]
    for implementation in source.implementations_in(module):
        if implementation.name == name:
            return implementation
    raise Unsupported(f"{module.__name__} no longer registers {identity}; list it again")


def named_inputs(function: Callable[..., Any], shapes: Shapes) -> tuple[str, ...]:
    """The family's inputs that a callable asks for by name."""
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in shapes:
            names.append(parameter.name)
        elif parameter.default is inspect.Parameter.empty:
            offered = ", ".join(shapes)
            raise TypeError(f'the callable asks for "{parameter.name}"; the family offers {offered}')
    return tuple(names)
