"""jax on any backend: every mode is one compiled program with XLA's static figures."""

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from harness.catalog.arrays import Shapes
from harness.core.errors import Unsupported
from harness.core.grouped import grouped
from harness.core.record import OperatorFigures
from harness.core.stage import SCOPE, recording
from harness.core.static_figures import Static
from harness.worker import array_files
from harness.worker.frameworks.base import Framework, Function, Names, Prepared, TraceLimits, require_matching
from harness.worker.frameworks.jax.trace import busy_s, times_by_stage, trace_call
from harness.worker.stage_recorder import OUTSIDE, StageSpan
from harness.worker.timers import Timer
from harness.xla import figures as xla_figures
from harness.xla import lowering
from harness.xla.hlo import jaxlib_hlo
from harness.xla.stage_operators import StagedProgram

if TYPE_CHECKING:
    from harness.worker.frameworks.jax.device_clock import DeviceClock

LAZY = ("chlo", "func", "stablehlo")  # MLIR dialects that lowering imports on its first use
COMPILED = "/jax/core/compile/backend_compile_duration"


def name_scope(stage: str) -> AbstractContextManager[Any]:
    """A name scope for operators traced in a stage; it does not change the program or its hash."""
    return jax.named_scope(SCOPE + stage)


@dataclass(frozen=True)
class CompiledProgram:
    """A compiled program and its source."""

    program: lowering.Program
    executable: Any

    @cached_property
    def staged(self) -> StagedProgram:
        """Its operators with their stages, from a second lowering with name scopes, for profiles only."""
        options = jaxlib_hlo().HloPrintOptions()
        (optimised,) = self.executable.runtime_executable().hlo_modules()
        with recording(name_scope):
            lowered = self.program.lower().compiler_ir("hlo").get_hlo_module()
        return StagedProgram(optimised.to_string(options), lowered.to_string(options))


class Jax(Framework):
    refills_in_place = False
    device: Any = None
    array_type: type = jax.Array  # the concrete class of arrays, known after `start`
    compiled: int | None = None  # programs; None before the first start

    def preload(self, *, tracing: bool) -> None:  # noqa: ARG002 - lowering is always needed
        """Import what jit and lowering load on first use, without starting a backend."""
        for dialect in LAZY:
            importlib.import_module(f"jaxlib.mlir.dialects.{dialect}")

    def start(self, device: str, threads: int, *, wide: bool) -> None:  # noqa: ARG002 - affinity binds XLA
        jax.config.update("jax_enable_x64", wide)
        if self.compiled is None:
            self.compiled = 0
            jax.monitoring.register_event_duration_secs_listener(self._count_compilation)
        try:
            self.device = jax.devices("gpu" if device == "cuda" else device)[0]
        except RuntimeError as error:
            package = {"cuda": "'jax[cuda13]'", "tpu": "'jax[tpu]'"}.get(device, "jax")
            raise Unsupported(
                f"jax has no {device} backend in this environment ({str(error).splitlines()[0]}); "
                f"pip install {package} on a machine that has one"
            ) from None
        jax.config.update("jax_default_device", self.device)
        self.array_type = type(jax.device_put(0, self.device))

    def _count_compilation(self, event: str, duration_secs: float, **_: Any) -> None:  # noqa: ARG002
        if event == COMPILED:
            self.compiled = (self.compiled or 0) + 1

    def compilations(self) -> int:
        return self.compiled or 0

    def enter(self, mode: str, *, wide: bool) -> None:  # noqa: ARG002 - a compiled program has its mode
        jax.config.update("jax_enable_x64", wide)

    @recording(name_scope)
    def prepare(
        self, function: Function, names: Names, shapes: Shapes, mode: str, limits: TraceLimits
    ) -> Prepared:
        del limits  # XLA plans memory without allocating
        structs = {name: lowering.structs(shapes[name]) for name in names}
        if mode == "fwd":
            compiled, static = self._compile(lowering.forward(function, structs))
            return Prepared(
                lambda inputs, _: partial(compiled.executable, **{n: inputs[n] for n in names}),
                static,
                compiled,
            )
        backward = lowering.Backward(function, structs)
        # The pullback is one program; another one computes its residuals.
        residuals, timed = backward.pullback() if mode == "bwd" else (None, backward.both())
        save = residuals.lower().compile() if residuals else None
        compiled, static = self._compile(timed)

        def bind(inputs: Mapping[str, Any], cotangent: Any) -> Callable[[], Any]:
            leaves, rest, _ = lowering.split({name: inputs[name] for name in names})
            seed = _cotangents_as(backward.outputs, cotangent)
            if save is None:
                return lambda: compiled.executable(leaves, rest, seed)
            saved, seed = jax.block_until_ready((save(leaves, rest), seed))
            return lambda: compiled.executable(saved, seed)

        return Prepared(bind, static, compiled)

    def _compile(self, program: lowering.Program) -> tuple[CompiledProgram, Static]:
        start = time.perf_counter()
        lowered = program.lower()
        middle = time.perf_counter()
        compiled = lowered.compile()
        end = time.perf_counter()
        static = xla_figures.figures(
            *(compiled, self.device.platform),
            lower_s=middle - start,
            compile_s=end - middle,
            owners=self.names_owners,
        )
        return CompiledProgram(program, compiled), static

    def put(self, tree: Any) -> Any:
        return jax.block_until_ready(array_files.map_leaves(tree, lambda leaf: jnp.array(leaf, copy=True)))

    def refill(self, target: Any, source: Any) -> Any:  # noqa: ARG002 - jax arrays never change
        return self.put(source)

    def get(self, tree: Any) -> Any:
        array_files.expect_arrays(tree, (self.array_type,), "jax arrays")
        return array_files.map_leaves(tree, jax.device_get)

    def sync(self, result: Any) -> None:
        jax.block_until_ready(result)

    def time_stages(self, call: Callable[[], Any], prepared: Prepared) -> Mapping[str, StageSpan]:
        """By a profiler trace of the program's operators; time without operators belongs to no stage.

        If several cores run operators at once, each operator gets an equal part of the time.
        """
        program = prepared.program.staged
        seconds, runs = trace_call(call, self.sync)
        stages = times_by_stage(runs, program.stages, program.containers)
        inside = sum(span.seconds for stage, span in stages.items() if stage != OUTSIDE)
        # The profiler's clock may report slightly more than the host's for a call that is all operators.
        return {**stages, OUTSIDE: StageSpan(max(0.0, seconds - inside), None)}

    def count_stages(self, call: Callable[[], Any], prepared: Prepared) -> Mapping[str, Any]:  # noqa: ARG002
        """From the compiled program, without running a call."""
        return prepared.program.staged.counts()

    def trace_operators(
        self, call: Callable[[], Any], prepared: Prepared, trace: Path | None
    ) -> Sequence[OperatorFigures]:
        program = prepared.program.staged
        _, runs = trace_call(call, self.sync, trace)
        operator_runs = (run for run in runs if run.operator not in program.containers)
        by_name = grouped(operator_runs, lambda run: run.operator)
        sizes = {operator.name: operator.bytes for operator in program.operators}
        return [
            OperatorFigures(
                name,
                program.stages.get(name, ""),
                busy_s(ran),
                len(ran),
                sizes[name] * len(ran) if name in sizes else None,
            )
            for name, ran in by_name.items()
        ]

    @cached_property
    def device_clock(self) -> "DeviceClock | str":
        """The device clock of a GPU, or the reason why it is unavailable."""
        from harness.worker.frameworks.jax.device_clock import open_clock

        return open_clock(self.device)

    def timer(self) -> Timer:
        """The profiler's device clock on a GPU if it is available, else the host's clock."""
        if self.device.platform != "gpu":
            return super().timer()
        if isinstance(self.device_clock, str):
            return replace(super().timer(), reason=self.device_clock)
        return Timer("cupti", "flushed", self.device_clock.read)

    def kernels(self, call: Callable[[], Any]) -> Sequence[str]:
        if self.device.platform != "gpu":
            return super().kernels(call)
        if isinstance(self.device_clock, str):
            raise Unsupported(self.device_clock)
        return self.device_clock.kernels(call)

    def capture(self, call: Callable[[], Any]) -> Callable[[], Any]:
        del call
        raise Unsupported(
            "XLA already runs kernels in command buffers (--xla_gpu_enable_command_buffer in XLA_FLAGS); "
            "omit --graphs"
        )

    def track_peak(self) -> Callable[[], int | None]:
        if self.device.platform == "cpu":
            return super().track_peak()
        before = self.device.memory_stats() or {}

        def peak() -> int | None:
            """None if an earlier peak was higher, because jax cannot reset it."""
            after = self.device.memory_stats() or {}
            highest, in_use = after.get("peak_bytes_in_use"), before.get("bytes_in_use")
            if highest is None or in_use is None or highest <= before.get("peak_bytes_in_use", 0):
                return None
            return highest - in_use

        return peak


def _cotangents_as(outputs: list[Any], cotangent: Any) -> list[Any]:
    """One cotangent per floating output: from `cotangent`, or ones without it."""
    if cotangent is None:
        return [jnp.ones(output.shape, output.dtype) for output in outputs]
    require_matching(cotangent, outputs)
    return [jnp.asarray(leaf, output.dtype) for leaf, output in zip(cotangent, outputs, strict=True)]
