"""Worker process of one case: builds, compiles, calls once for the contract check, then times calls.

The reference worker compares the results, and the inputs after the call: in this process the implementation
may have replaced anything.
"""

import gc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from harness.catalog.arrays import nbytes
from harness.catalog.build import build
from harness.core.errors import Unsupported
from harness.core.protocol import Job
from harness.core.units import format_bytes
from harness.worker import array_files, resource_limits, timers
from harness.worker.call_profile import count_kernels, longest_operators, time_stages
from harness.worker.case_checks import make_trial, relevant_checks, run_checks
from harness.worker.frameworks import base as frameworks
from harness.worker.frameworks.base import TraceLimits
from harness.worker.module_loading import load_module
from harness.worker.verify import RETURNED

PULLBACK = (
    "a CUDA graph of a backward reads the residuals of one set of inputs, so replays on other inputs cannot "
    "be checked; use --mode fwd_bwd"
)
LONGEST_LATENCY_S = 0.02  # device time of a call above which its launch overhead is negligible


class CaseWorker:
    """Handles the requests `prepare`, `check`, `examine`, `ready`, `sample` and `profile`, in that order."""

    def __init__(self, job: Job, report_compiling: Callable[[bool], None] = lambda _: None) -> None:
        self.job, self.report_compiling = job, report_compiling
        self.born = perf_counter()
        self.folder = Path(job.folder)
        self.framework = frameworks.get(job.framework)
        self.calls: list[Callable[[], Any]] = []
        self.inputs: list[Any] = []
        self.captured: tuple[Any, Any] | None = None  # inputs and cotangent that the latest graph reads
        self.turn = 0
        self.case = job.case
        self.wide = dict(job.case.workload).get("dtype") == "f64"

    def enter(self) -> None:
        """Restore this case's process-wide settings after another case has run in this process."""
        self.framework.enter(self.case.mode, wide=self.wide)

    def do_prepare(self, trace_s: float, owners: bool = False) -> dict[str, Any]:
        """Load, build, and compile or trace, without allocating the workload's arrays.

        With `owners`, the figures include the buffer breakdown of the planned peak.
        """
        job, self.framework.names_owners = self.job, owners
        self.framework.start(self.case.device, job.threads, wide=self.wide)
        self.enter()
        if self.case.device == "cpu":
            resource_limits.cap_memory(job.memory_bytes)
        module = load_module(job)
        startup = perf_counter() - self.born
        self.built = built = build(module, self.case)
        self.names = built.names
        if (sharding := built.family.sharding(built.workload)) is not None:
            raise Unsupported(
                f"the workload is sharded over {sharding.devices} devices; compile it for a topology of that "
                "size, for example seqsweep static --target tpu:v5p:4x4x8"
            )
        self.prepared = self.framework.prepare(
            built.function,
            self.names,
            built.shapes,
            self.case.mode,
            TraceLimits(trace_s, 1000 * job.memory_bytes),
        )
        self.framework.on_compilation(self.report_compiling)  # after tracing, which is not reported
        return {**built.describe(self.prepared.static), "startup_s": startup}

    def do_check(self, cotangent: str | None, result: str) -> dict[str, Any]:
        """Call the case once on the first input set, and write the result to the folder `result`."""
        inputs = self._place_inputs("set0")
        call = self.prepared.bind(inputs, self._cotangent(cotangent))
        gc.collect()
        before = self.framework.compilations()
        peak_growth = self.framework.track_peak()
        begun = perf_counter()
        seconds, answer = self._time_call(call)
        warmup_s = perf_counter() - begun
        high_water, compiled = peak_growth(), self.framework.compilations()
        with resource_limits.lift_memory_cap():
            returned = array_files.checksums(self._fetch(answer))
        self.inputs.append(inputs)
        begun = perf_counter()
        if compiled > before:  # the first call included compilation
            seconds = self._call_untimed(call)
        seconds = timers.repeat_short_call(lambda: self._call_untimed(call), seconds, perf_counter)
        warmup_s += perf_counter() - begun
        self.inputs.clear()
        self._hand_over(answer, inputs, result, returned)
        return {
            "seconds": seconds,
            "warmup_s": warmup_s,
            "high_water_bytes": high_water,
            "recompiled": self.framework.compilations() - compiled,
        }

    def do_examine(self, only: list[str] | None, cotangent: str | None) -> dict[str, Any]:
        """Run the family's checks that apply to the case, restricted to the ids in `only`, if given."""
        checks = relevant_checks(self.built, only)
        if not checks:
            return {"checks": []}
        inputs = dict(array_files.read(self.folder / "set0", only=self.names))
        seed = self._cotangent(cotangent)
        trial = make_trial(self.framework, self.built, self.prepared, self.enter, inputs, seed)
        return {"checks": run_checks(self.built, checks, trial)}

    def do_ready(self, sets: int, cotangents: bool, graphs: bool = False) -> dict[str, Any]:
        """Put every input set but the first on the device and bind a call to each; samples rotate over them.

        With `graphs` a call is captured as a CUDA graph, and a sample times a replay.
        """
        if graphs and self.case.mode == "bwd":
            raise Unsupported(PULLBACK)
        for index in range(sets):
            inputs = self._place_inputs(f"set{index + 1}")
            self.inputs.append(inputs)
            seed = self._cotangent(f"cotangent{index}" if cotangents else None)
            call = self.prepared.bind(inputs, seed)
            self.calls.append(self.framework.capture(call) if graphs else call)
            self.captured = (inputs, seed) if graphs else None
        self.timer = self.framework.timer()
        # If enabled, the collector would interrupt some samples only; `do_sample` runs it before sampling.
        gc.collect()
        gc.freeze()
        gc.disable()
        method = "cuda_graph" if graphs else self.timer.method
        return {"method": method, "cache": self.timer.cache, "reason": self.timer.reason}

    def do_sample(
        self, readings: int, inner: int, warm: bool, fresh: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Take `readings` samples of `inner` calls each, after one untimed call if `warm`.

        With `fresh` the first sample is verified: the last set gets new values from the folder `inputs` (and
        `cotangent`), and the result is written to the folder `result`. Other samples use the other set. The
        order of steps prevents an implementation from preparing for the new values:

        - The values change after the untimed calls, so an untimed call cannot compute their result early. If
          a call cannot see them in advance (new arrays instead of a refill) or must see them (the forward of
          a backward), an untimed call on the other set follows to wake threads.
        - Checksums of the result are taken when the call returns. It must be complete then, and later calls
          must not overwrite it.
        - Nothing else tells the call that it is verified: same function, same clock, no garbage collection.
        """
        start = perf_counter()
        gc.collect()  # reference cycles of earlier calls
        if fresh is not None:
            self._call_fresh(fresh, warm=warm)
        elif warm:
            self.framework.sync(self._next_call(None)())
        compiled = self.framework.compilations()
        stored: list[Any] = []
        returned: list[int] = []

        def keep(result: Any) -> None:
            fetched = self._fetch(result)
            returned[:] = array_files.checksums(fetched)
            stored[:] = [self.framework.put(fetched) if self.captured else result]  # a replay overwrites it

        calls = [self._next_call(None if fresh is None else min(each, 1)) for each in range(readings)]
        queue = timers.RunQueue()
        samples = [s / inner for s in self.timer.read(calls, inner, None if fresh is None else keep)]
        queued = queue.share()
        compiled = self.framework.compilations() - compiled
        if fresh is not None:
            self._hand_over(stored.pop(), self.inputs[-1], fresh["result"], returned)
        latency_s = None
        if fresh is None and self.timer.method != "wall" and max(samples) < LONGEST_LATENCY_S:
            latency_s, _ = self._time_call(self._next_call(None))
        seconds = perf_counter() - start
        return {
            "samples_s": samples,
            "seconds": seconds,
            "compiled": compiled,
            "queued": queued,
            "latency_s": latency_s,
        }

    def _call_fresh(self, fresh: Mapping[str, Any], *, warm: bool) -> None:
        """Put new values into the last set, with untimed calls around that if `warm`: see `do_sample`."""
        can_look = self.framework.refills_in_place and self.case.mode != "bwd"
        sets = range(len(self.calls) if warm else 0)
        for turn in sets if can_look else sets[:1]:
            self._call_untimed(self._next_call(turn))
        self._refill(fresh["inputs"], fresh["cotangent"])
        if warm and can_look:
            self.framework.wake()
        elif warm and len(sets) > 1:
            self._call_untimed(self._next_call(1))

    def do_profile(self) -> dict[str, Any]:
        """Make an untimed call, a timed one without marks (`plain_s`), and one that times its stages.

        `stages` maps a name to (seconds, times entered, overlapped seconds), without nested stages. The name
        "" is the time outside all stages. `refused` is the reason if there are no stages.
        """
        gc.collect()
        self.framework.sync(self._next_call(None)())
        (plain_s,) = self.timer.read([self._next_call(None)], 1, None)
        stages = time_stages(self.framework, self._next_call(None), self.prepared, self.built.family)
        return {"plain_s": plain_s, **stages}

    def do_count_stages(self) -> dict[str, Any]:
        """Count (operators, FLOPs, bytes) of every stage of one call."""
        return {"counts": dict(self.framework.count_stages(self._next_call(None), self.prepared))}

    def do_trace_operators(self, trace: str | None) -> dict[str, Any]:
        """List the slowest operators of one call; its trace is written to the file `trace`, if given."""
        file = self.folder / trace if trace else None
        return longest_operators(self.framework, self._next_call(None), self.prepared, file)

    def do_kernels(self) -> dict[str, Any]:
        """List the kernels of one call."""
        return count_kernels(self.framework, self._next_call(None))

    def _refill(self, inputs: str, cotangent: str | None) -> None:
        """Replace the values of the last input set, in place if arrays are mutable."""
        values = array_files.read(self.folder / inputs, only=self.names)
        if self.captured:
            mine, seed = self.captured
            self.framework.refill(mine, values)
            if cotangent:
                self.framework.refill(seed, array_files.read(self.folder / cotangent))
            return
        del self.calls[-1]  # frees a backward's residuals before new ones are allocated
        self.inputs[-1] = self.framework.refill(self.inputs[-1], values)
        self.calls.append(self.prepared.bind(self.inputs[-1], self._cotangent(cotangent)))

    def _place_inputs(self, name: str) -> Any:
        return array_files.read(self.folder / name, self.framework.put, only=self.names)

    def _cotangent(self, name: str | None) -> Any:
        return array_files.read(self.folder / name, self.framework.put) if name else None

    def _next_call(self, after_last: int | None) -> Callable[[], Any]:
        """The call on the next input set in rotation, or `after_last` positions after the last set."""
        self.turn += 1
        return self.calls[(self.turn if after_last is None else after_last - 1) % len(self.calls)]

    def _call_untimed(self, call: Callable[[], Any]) -> float:
        """Call, then overwrite the result, as a caller may. Returns the seconds of the call only."""
        seconds, result = self._time_call(call)
        if self.case.mode == "fwd":  # a gradient may be the cotangent itself, or a residual
            self.framework.overwrite(result, self.inputs)
        return seconds

    def _time_call(self, call: Callable[[], Any]) -> tuple[float, Any]:
        start = perf_counter()
        result = call()
        self.framework.sync(result)
        return perf_counter() - start, result

    def _fetch(self, result: Any) -> Any:
        """A result as numpy arrays. MemoryError if they exceed the memory limit."""
        arrays = self.framework.get(result)
        if (size := nbytes(arrays)) > self.job.memory_bytes:
            raise MemoryError(
                f"the result has {format_bytes(size)}; the limit is {format_bytes(self.job.memory_bytes)}"
            )
        return arrays

    def _hand_over(self, result: Any, inputs: Any, name: str, returned: Sequence[int] = ()) -> None:
        """Write a result, and the inputs after the call, for the reference worker.

        `returned` are the result's checksums at the time of return, if they were taken.
        """
        with resource_limits.lift_memory_cap():
            arrays = self._fetch(result)
            mine = {each: self.framework.get(inputs[each]) for each in self.names}
            output = {"result": arrays, "inputs": mine}
            if returned:
                output[RETURNED] = np.array(returned, np.int64)
            array_files.write(self.folder / name, output)
