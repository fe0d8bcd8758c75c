"""Figures of the Pallas kernels of a program compiled for a GPU, by their machine code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from harness.catalog.accelerators import Target
from harness.core.errors import Unsupported
from harness.core.grouped import grouped
from harness.core.kernel_figures import KernelFigures
from harness.core.static_figures import Static
from harness.cubin import machine_code
from harness.cubin.machine_code import THREADS_PER_WARP, launched_kernel
from harness.xla.hlo import Graph
from harness.xla.pallas_kernels import name_and_place, pallas_calls
from harness.xla.protobuf import inside, message, number_of, of_executable, possible_message

ELF = b"\x7fELF"
INSTRUCTION, NAME = 1, 1  # of a launch, and of its description
LAUNCH, KERNEL = 36, 3  # the path to a kernel
LOADED, IN_MEMORY, CUBIN = 2, 2, 1  # from there to its machine code
GRID, BLOCKS = 3, 2
BLOCK, THREADS = 4, 1
SHARED = 6  # dynamic shared memory of the launch
AXES = (1, 2, 3)
TRITON = "__gpu$xla.gpu.triton"  # the target of a call that Pallas has lowered by Triton
MOSAIC = "mosaic_gpu_v2"  # or by Mosaic GPU, whose own code launches the kernel
UNREAD = "the resources of its Pallas kernels are unknown: {}"
BY_MOSAIC = (
    "Mosaic GPU launches kernels by its own code; give pallas_call "
    "compiler_params=jax.experimental.pallas.triton.CompilerParams()"
)
OTHER_KIND = (
    "its Pallas kernels are not for {}: kernels for GPUs have "
    "compiler_params=jax.experimental.pallas.triton.CompilerParams(), those for TPUs do not; jax reports: {}"
)
GPU_PARAMETERS = ("pallas.triton", "pallas.mosaic_gpu")  # modules of compiler parameters for GPUs
MESSAGE = 160  # characters of jax's own message
Sources = dict[str, tuple[str, int | None]]


@dataclass(frozen=True)
class GpuLaunch:
    """A kernel as XLA launches it; `shared_bytes` per block are the launch's dynamic ones."""

    instruction: str
    kernel: str
    cubin: bytes
    grid: tuple[int, ...]  # blocks per axis, without trailing ones
    threads: int  # of a block
    shared_bytes: int


def gpu_launches(executable: bytes) -> Iterator[GpuLaunch]:
    """The launches in order, including XLA's own kernels. ValueError for an unknown format.

    Each is stored with the instruction that launches it, also inside loops. The field numbers are
    undocumented; they are those of jaxlib 0.10.2.
    """
    for record in of_executable(executable):
        yield from _launches(record)


def _launches(data: bytes) -> Iterator[GpuLaunch]:
    fields = possible_message(data)
    if kernels := inside(inside([data], LAUNCH), KERNEL):
        instructions = inside(inside([data], INSTRUCTION), NAME)
        yield from (_launch(kernel, instructions) for kernel in kernels if ELF in kernel)
        return
    for field in fields:
        if ELF in field.value:
            yield from _launches(field.value)


def _launch(kernel: bytes, instructions: list[bytes]) -> GpuLaunch:
    (cubin,) = inside(inside(inside([kernel], LOADED), IN_MEMORY), CUBIN)
    x, y, z = _axes(inside(inside([kernel], GRID), BLOCKS))
    wide, high, deep = _axes(inside(inside([kernel], BLOCK), THREADS))
    return GpuLaunch(
        instruction="".join(name.decode() for name in instructions),
        kernel="".join(name.decode() for name in inside([kernel], NAME)),
        cubin=cubin,
        grid=(x, y, z) if z > 1 else (x, y) if y > 1 else (x,),
        threads=wide * high * deep,
        shared_bytes=number_of(message(kernel), SHARED),
    )


def _axes(parts: list[bytes]) -> list[int]:
    (part,) = parts
    return [number_of(message(part), axis) for axis in AXES]


def with_gpu_kernels(static: Static, compiled: Any, jaxpr: Any, wanted: Target) -> Static:
    """The figures of a GPU program with its Pallas kernels, or with the reason why they cannot be read.

    The module's hash does not cover the kernels' bodies, so their machine code is added to it. If that
    cannot be read, the program has no hash.
    """
    sources = _sources(jaxpr)
    if wanted.kind != "cuda" or not sources:
        return static
    try:
        kernels = _kernels(compiled, sources, wanted)
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        return _without_kernels(static, f"unknown format of the executable ({error}); use jax 0.10.2")
    except Unsupported as refusal:
        return _without_kernels(static, str(refusal))
    digest = sha256("\n".join([str(static.program), *(kernel.program for kernel in kernels)]).encode())
    program = static.program and f"sha256:{digest.hexdigest()}"
    return replace(static, kernels=kernels, program=program)


def refuse_unlowered(error: Exception, jaxpr: Any, wanted: Target) -> None:
    """Raise Unsupported if lowering failed because the kernels are for another kind of target."""
    parameters = [call.params["compiler_params"] for call in pallas_calls(jaxpr.jaxpr)]
    for_gpus = any(part in type(each).__module__ for each in parameters for part in GPU_PARAMETERS)
    if parameters and wanted.kind == ("tpu" if for_gpus else "cuda"):
        words = str(error).strip().partition("\n")[0][:MESSAGE]
        raise Unsupported(OTHER_KIND.format(wanted.name, words)) from error


def _without_kernels(static: Static, why: str) -> Static:
    message = UNREAD.format(why)
    unavailable = {**static.unavailable, "program": message}
    return replace(static, program=None, unavailable=unavailable, warnings=(*static.warnings, message))


def _sources(jaxpr: Any) -> Sources:
    """`file:line` and matrix products of kernels, by name. Several places are joined."""
    calls = [
        (*name_and_place(call), str(call.params["jaxpr"]).count(" dot_general["))
        for call in pallas_calls(jaxpr.jaxpr)
    ]
    return {
        name: (", ".join(dict.fromkeys(place for _, place, _ in same)), max(count for *_, count in same))
        for name, same in grouped(calls, lambda call: call[0]).items()
    }


def _kernels(compiled: Any, sources: Sources, wanted: Target) -> tuple[KernelFigures, ...]:
    """The kernels in call order, equal ones merged. A call in a loop counts once."""
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
        raise ValueError(f"no machine code for {min(missing)}")
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
