"""Figures of the Pallas kernels of a program compiled for a GPU, by their machine code."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

from harness.catalog.accelerators import Target
from harness.core.errors import Unsupported
from harness.core.grouped import grouped
from harness.core.kernel_figures import KernelFigures
from harness.core.static_figures import Static
from harness.cubin import machine_code
from harness.cubin.launched_kernel import launched_kernel
from harness.cubin.occupancy import THREADS_PER_WARP
from harness.xla.gpu_launches import GpuLaunch, gpu_launches
from harness.xla.hlo import Graph
from harness.xla.pallas_kernels import name_and_place, pallas_calls

TRITON = "__gpu$xla.gpu.triton"  # the target of a call that Pallas has lowered by Triton
MOSAIC = "mosaic_gpu_v2"  # or by Mosaic GPU, whose own code launches the kernel
UNREAD = "what its Pallas kernels take is not read: {}"
BY_MOSAIC = (
    "those lowered by Mosaic GPU are launched by code of their own; give pallas_call "
    "compiler_params=jax.experimental.pallas.triton.CompilerParams()"
)
FOR_GPUS = "its Pallas kernels are for GPUs; --target cuda:h100 plans them here"
FOR_TPUS = (
    "its Pallas kernels are none for GPUs: --target tpu:v5p plans those for TPUs, and one for GPUs has "
    "compiler_params=jax.experimental.pallas.triton.CompilerParams(); jax says: {}"
)
GPU_PARAMETERS = ("pallas.triton", "pallas.mosaic_gpu")  # modules of compiler parameters for GPUs
SAID = 160  # characters of jax's own words
Sources = dict[str, tuple[str, int | None]]


def with_gpu_kernels(static: Static, compiled: Any, jaxpr: Any, wanted: Target) -> Static:
    """The figures of a program for a GPU with its Pallas kernels, or with why these cannot be read.

    The module's hash does not cover the kernels' bodies, so their machine code is added to it; where that
    cannot be read, the program has no hash.
    """
    sources = _sources(jaxpr)
    if wanted.kind != "cuda" or not sources:
        return static
    try:
        kernels = _kernels(compiled, sources, wanted)
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        return _without_kernels(static, f"another form of executable ({error}); use jax 0.10.2")
    except Unsupported as refusal:
        return _without_kernels(static, str(refusal))
    digest = sha256("\n".join([str(static.program), *(kernel.program for kernel in kernels)]).encode())
    program = static.program and f"sha256:{digest.hexdigest()}"
    return replace(static, kernels=kernels, program=program)


def refuse_unlowered(error: Exception, jaxpr: Any, wanted: Target) -> None:
    """Raise Unsupported if lowering failed because the kernels are for another kind of target."""
    parameters = [call.params["compiler_params"] for call in pallas_calls(jaxpr.jaxpr)]
    for_gpus = any(part in type(each).__module__ for each in parameters for part in GPU_PARAMETERS)
    if for_gpus and wanted.kind == "tpu":
        raise Unsupported(FOR_GPUS) from error
    if parameters and not for_gpus and wanted.kind == "cuda":
        raise Unsupported(FOR_TPUS.format(str(error).strip().partition("\n")[0][:SAID])) from error


def _without_kernels(static: Static, why: str) -> Static:
    said = UNREAD.format(why)
    unavailable = {**static.unavailable, "program": said}
    return replace(static, program=None, unavailable=unavailable, warnings=(*static.warnings, said))


def _sources(jaxpr: Any) -> Sources:
    """By name the `file:line` of a kernel, and its matrix products; several places joined, with the most."""
    calls = [
        (*name_and_place(call), str(call.params["jaxpr"]).count(" dot_general["))
        for call in pallas_calls(jaxpr.jaxpr)
    ]
    return {
        name: (", ".join(dict.fromkeys(place for _, place, _ in same)), max(count for *_, count in same))
        for name, same in grouped(calls, lambda call: call[0]).items()
    }


def _kernels(compiled: Any, sources: Sources, wanted: Target) -> tuple[KernelFigures, ...]:
    """The kernels in the order of their calls, equal ones merged; a call in a loop counts once."""
    executable = compiled.runtime_executable()
    (module,) = executable.hlo_modules()
    targets = {each.name: each.target for each in Graph.of(module).instructions if each.target}
    if MOSAIC in targets.values():
        raise Unsupported(BY_MOSAIC)
    launches = [
        each for each in gpu_launches(executable.serialize()) if targets.get(each.instruction) == TRITON
    ]
    called = {name for name in targets if targets[name] == TRITON}
    if missing := called - {launch.instruction for launch in launches}:
        raise ValueError(f"no machine code of {min(missing)}")
    alike = grouped(launches, lambda launch: replace(launch, instruction=""))
    return tuple(_figures(launch, len(same), sources, wanted) for launch, same in alike.items())


def _figures(launch: GpuLaunch, count: int, sources: Sources, wanted: Target) -> KernelFigures:
    code = machine_code.read(launch.cubin, machine_code.tools_folder())
    place, products = sources.get(launch.kernel, ("", None))
    return launched_kernel(
        code,
        wanted,
        kernel=launch.kernel,
        source=place,
        grid=launch.grid,
        warps=-(-launch.threads // THREADS_PER_WARP),
        dynamic_shared_bytes=launch.shared_bytes,
        tensor_memory_columns=None if "tensor memory" in code.by_class() else 0,
        products=products,
        launches=count,
    )
