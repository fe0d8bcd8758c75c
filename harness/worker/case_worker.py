"""The process of one case: build, compile, run once for the contract, then read the clock."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

from harness.catalog import loading
from harness.catalog.arrays import nbytes
from harness.catalog.build import build, named_inputs
from harness.core.errors import SideError, Unsupported
from harness.core.protocol import Job
from harness.core.units import format_bytes
from harness.worker import array_files, leaks, resource_limits
from harness.worker.case_checks import run_checks
from harness.worker.frameworks import base as frameworks
from harness.worker.frameworks.base import Patience, Prepared

SHORT_SECONDS = 0.25  # a first call shorter than this is repeated for a better estimate of a call's time
COMPARED_BYTES = 1 << 24


class CaseWorker:
    """Answers `prepare`, `check`, `ready`, `sample`, `recheck` and `finish`, in that order."""

    def __init__(self, job: Job, tell_compiling: Callable[[bool], None] = lambda _: None) -> None:
        self.job, self.tell_compiling = job, tell_compiling
        self.born = perf_counter()
        self.folder = Path(job.folder)
        self.framework = frameworks.get(job.framework)
        self.calls: list[Callable[[], Any]] = []
        self.inputs: list[Any] = []
        self.others: dict[Any, tuple[tuple[str, ...], Prepared]] = {}
        self.turn = self.results = 0
        self.case = job.case
        self.wide = dict(job.case.workload).get("dtype") == "f64"

    def enter(self) -> None:
        """Apply this case's process-wide settings, after another case of the process has run."""
        self.framework.enter(self.case.mode, wide=self.wide)

    def do_prepare(self, trace_s: float) -> dict[str, Any]:
        """Load, build and compile or trace; nothing of the workload's size exists yet."""
        job = self.job
        self.framework.start(self.case.device, job.threads, wide=self.wide)
        self.enter()
        self.threads = leaks.threads()
        if self.case.device == "cpu":
            resource_limits.cap_memory(job.memory_bytes)
        module = self._module()
        startup = perf_counter() - self.born
        built = build(module, self.case)
        self.family, self.workload, self.implementation = built.family, built.workload, built.implementation
        self.names = built.names
        self.framework.on_compilation(self._tell_compiling(os.getpid()))
        if (sharding := built.family.sharding(built.workload)) is not None:
            raise Unsupported(
                f"its workload lies on {sharding.devices} devices; compile it for a topology of as many, "
                "as in seqsweep static --target tpu:v5p:4x4x8"
            )
        self.prepared = self.framework.prepare(
            built.function,
            self.names,
            built.shapes,
            self.case.mode,
            Patience(trace_s, 1000 * job.memory_bytes),
        )
        return {**built.describe(self.prepared.static), "startup_s": startup}

    def _tell_compiling(self, worker: int) -> Callable[[bool], None]:
        """What a compiler calls; in a fork that traces, nobody asks how long it takes."""
        return lambda begins: self.tell_compiling(begins) if os.getpid() == worker else None

    def _module(self) -> ModuleType:
        """The implementation's module. SideError in a gate, where it does not load or lies elsewhere."""
        job = self.job
        try:
            module = loading.load(job.module)
        except Exception as error:
            if job.side is None:
                raise
            raise SideError(
                f"the {job.side} does not load: {type(error).__name__}: {resource_limits.message_of(error)}"
            ) from error
        came_from(module, job.within)
        return module

    def do_check(self, cotangent: str | None) -> dict[str, Any]:
        """Call it once on the first set; the result goes to a folder, for the reference worker to verify."""
        inputs = self._place_inputs("set0")
        call = self.prepared.bind(inputs, self._cotangent(cotangent))
        gc.collect()
        rise = self.framework.rise()
        seconds, result = self._time_call(call)
        high_water, compiled = rise(), self.framework.compilations()
        until = perf_counter() + SHORT_SECONDS / 10
        while seconds < SHORT_SECONDS and perf_counter() < until:
            seconds = min(seconds, self._time_call(call)[0])
        return {
            "seconds": seconds,
            "high_water_bytes": high_water,
            "recompiled": self.framework.compilations() - compiled,
            "result": self._hand_over(result),
            "changed": self._changed_input(inputs),
        }

    def do_examine(self, only: list[str] | None, cotangent: str | None) -> dict[str, Any]:
        """Run the family's checks that concern the case, restricted to `only` where given."""
        return {"checks": run_checks(self, only, cotangent)}

    def answer(self, inputs: Mapping[str, Any], cotangent: str | None = None) -> Any:
        """The result on these numpy arrays, as numpy arrays."""
        return self._call(self.prepared, inputs, self._cotangent(cotangent))

    def solve(self, workload: Any, inputs: Mapping[str, Any]) -> Any:
        """The forward's result of the same implementation, built for another workload (once)."""
        self.framework.enter("fwd", wide=getattr(workload, "dtype", None) == "f64")
        try:
            if workload not in self.others:
                self.others[workload] = self._build_for(workload)
            names, prepared = self.others[workload]
            return self._call(prepared, {name: inputs[name] for name in names}, None)
        finally:
            self.enter()

    def _build_for(self, workload: Any) -> tuple[tuple[str, ...], Prepared]:
        shapes = self.family.shapes_of(self.implementation.semantics, workload)
        function = self.implementation(workload, **dict(self.case.options))
        names = named_inputs(function, shapes)
        return names, self.framework.prepare(function, names, shapes, "fwd", Patience(0, 0))

    def _call(self, prepared: Prepared, inputs: Mapping[str, Any], cotangent: Any) -> Any:
        placed = {name: array_files.map_leaves(value, self.framework.put) for name, value in inputs.items()}
        result = prepared.bind(placed, cotangent)()
        self.framework.sync(result)
        return self.framework.get(result)

    def do_ready(self, sets: int, cotangents: bool) -> dict[str, Any]:
        """Put every set on the device and bind a call to each; samples rotate over them."""
        for index in range(sets):
            inputs = self._place_inputs(f"set{index}")
            self.inputs.append(inputs)
            seed = self._cotangent(f"cotangent{index}" if cotangents else None)
            self.calls.append(self.prepared.bind(inputs, seed))
        method, cache, self.read = self.framework.timer()
        # Left on, the collector would pause some readings and not others; `do_sample` runs it between them.
        gc.collect()
        gc.freeze()
        gc.disable()
        return {"method": method, "cache": cache}

    def do_sample(self, readings: int, inner: int, warm: bool) -> dict[str, Any]:
        """`readings` readings of `inner` calls each, after one untimed call when `warm`."""
        start = perf_counter()
        gc.collect()  # reference cycles of earlier calls must not pile up
        if warm:
            self.framework.sync(self._next_call()())
        compiled = self.framework.compilations()
        samples = [self.read(self._next_call(), inner) / inner for _ in range(readings)]
        compiled = self.framework.compilations() - compiled
        return {"samples_s": samples, "seconds": perf_counter() - start, "compiled": compiled}

    def do_recheck(self, cotangent: str | None) -> dict[str, Any]:
        """Call it on the last set's own storage, refilled with the first set's values.

        An implementation that remembers earlier answers, or has changed its inputs, fails here.
        """
        inputs = self.framework.refill(
            self.inputs[-1], array_files.read(self.folder / "set0", only=self.names)
        )
        _, result = self._time_call(self.prepared.bind(inputs, self._cotangent(cotangent)))
        return {"result": self._hand_over(result), "changed": self._changed_input(inputs)}

    def do_finish(self) -> dict[str, Any]:
        """What the implementation leaves: running threads and processes, and shared memory."""
        threads = [name for ident, name in leaks.threads().items() if ident not in self.threads]
        return {
            "threads": sorted(threads),
            "processes": leaks.processes(),
            "shared_memory": leaks.shared_memory(),
        }

    def _place_inputs(self, name: str) -> Any:
        return array_files.read(self.folder / name, self.framework.put, only=self.names)

    def _cotangent(self, name: str | None) -> Any:
        return array_files.read(self.folder / name, self.framework.put) if name else None

    def _next_call(self) -> Callable[[], Any]:
        self.turn += 1
        return self.calls[self.turn % len(self.calls)]

    def _time_call(self, call: Callable[[], Any]) -> tuple[float, Any]:
        start = perf_counter()
        result = call()
        self.framework.sync(result)
        return perf_counter() - start, result

    def _hand_over(self, result: Any) -> str:
        """Write a result for the reference worker; the name of its folder."""
        with resource_limits.uncapped_memory():
            arrays = self.framework.get(result)
            size = nbytes(arrays)
            if size > self.job.memory_bytes:
                raise MemoryError(
                    f"it returned {format_bytes(size)}; the limit is {format_bytes(self.job.memory_bytes)}"
                )
            self.results += 1
            name = f"result-{os.getpid()}-{self.results}"
            try:
                array_files.write(self.folder / name, arrays)
            except BaseException:  # the answer says what was wrong; half a result must not stay behind
                shutil.rmtree(self.folder / name, ignore_errors=True)
                raise
        return name

    def _changed_input(self, inputs: Any) -> str | None:
        """The name of an input whose values are no longer the first set's."""
        with resource_limits.uncapped_memory():
            stored = array_files.read(self.folder / "set0", only=self.names)
            for name in self.names:
                mine = array_files.leaves(self.framework.get(inputs[name]))
                for leaf, original in zip(mine, array_files.leaves(stored[name]), strict=True):
                    if not same_bytes(leaf, original.astype(leaf.dtype, copy=False)):
                        return name
        return None


def same_bytes(left: Any, right: Any) -> bool:
    """Whether two arrays of one dtype hold the same, in pieces: no copy of either is made."""
    if left.shape != right.shape:
        return False
    # As bytes, since a NaN must equal itself and −0 must not equal 0.
    mine, theirs = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (left, right))
    pieces = (slice(start, start + COMPARED_BYTES) for start in range(0, mine.size, COMPARED_BYTES))
    return all(np.array_equal(mine[piece], theirs[piece]) for piece in pieces)


def came_from(module: ModuleType, within: str | None) -> None:
    """Raise SideError when a module lies elsewhere than in the folder it must come from."""
    file = Path(module.__file__ or "").resolve()
    if within is not None and not file.is_relative_to(Path(within).resolve()):
        raise SideError(
            f"{module.__name__} was loaded from {file}, not from {within}: remove what shadows it"
        )
