"""Cross-compiler of Triton kernels: a process that compiles cases, one by one, for absent GPUs."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from harness.catalog import loading
from harness.catalog.accelerators import Target, target
from harness.catalog.build import Built, build
from harness.core.errors import Unsupported
from harness.core.kernel_figures import KernelFigures
from harness.core.machine import usable_cores
from harness.core.protocol import Job
from harness.core.static_figures import Static
from harness.cubin import machine_code
from harness.cubin.machine_code import THREADS_PER_WARP, launched_kernel
from harness.worker.frameworks.base import TraceLimits
from harness.worker.frameworks.triton.environment import prepare_environment

PRODUCT = re.compile(r"\btt\.dot(?:_scaled)?\b")

if TYPE_CHECKING:
    from harness.worker.frameworks.triton.launches import Recorder

TRACE_SECONDS = 120.0  # for all configurations of all kernels of a call
CPU_TRACE = "traced on cpu tensors, because autograd needs the GPU: device-dependent code takes its cpu path"


class KernelCompiler:
    """Handles `compile` requests, each for another job."""

    def __init__(self, job: Job) -> None:
        self.cache = Path(job.folder) / "triton"

    def do_compile(self, job: Mapping[str, Any], name: str, owners: bool = False) -> dict[str, Any]:
        """Compute the static figures of a case for a target, and other facts that do not need a run."""
        request = Job.from_json(job)
        gpu = gpu_of(name)
        prepare_environment(interpret=False, cache=self.cache)
        use_absent_gpu(gpu)  # a builder may query it
        built = build(loading.load(request.module), request.case)
        static = compile_call(
            *(built, request.case.mode, gpu),
            TraceLimits(TRACE_SECONDS, request.memory_bytes * 1000),
            owners=owners,
        )
        return {
            **built.describe(static),
            "resident_bytes": psutil.Process().memory_info().rss,
            "spent": False,
        }


def gpu_of(name: str) -> Target:
    """The target of this name. Unsupported if it is not a GPU."""
    gpu = target(name)
    if gpu.capability is None:
        raise Unsupported(f"Triton compiles for GPUs, not for {name}; use for example --target cuda:h100")
    return gpu


def use_absent_gpu(gpu: Target) -> None:
    """Let Triton compile for this GPU as if it were the active device."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.runtime import cache, driver

    from harness.worker.frameworks.triton.launches import AbsentDevice

    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # use no memory of a GPU in this machine
    architecture = int(str(gpu.capability).replace(".", ""))
    driver.set_active(AbsentDevice(GPUTarget("cuda", architecture, THREADS_PER_WARP)))
    # The cache key normally hashes all of Triton, which takes half a second. The version is sufficient here,
    # because the cache is deleted with the process's folder.
    cache.triton_key = lambda: triton.__version__


def compile_launches(
    built: Built, mode: str, limits: TraceLimits, *, owners: bool = False
) -> tuple[Static, Recorder]:
    """Trace a call over fake tensors, and compile every kernel that it launches."""
    import torch

    from harness.worker.frameworks.torch.arrays import empty
    from harness.worker.frameworks.torch.binding import bind as bind_call
    from harness.worker.frameworks.torch.binding import modules_of
    from harness.worker.frameworks.torch.trace import figures
    from harness.worker.frameworks.triton import launches
    from harness.worker.frameworks.triton.launches import NoDeviceGuards

    # Autograd needs a device for CUDA tensors, even fake ones: torch without CUDA aborts the process, a CUDA
    # build raises "hasPrimaryContext expects a valid device index".
    on_cpu = mode != "fwd"
    device = torch.device("cpu") if on_cpu else torch.device("cuda", 0)

    def bind(inputs: Mapping[str, Any], cotangent: Any) -> Any:
        return bind_call(built.function, built.names, mode, inputs, cotangent)

    torch.set_grad_enabled(mode != "fwd")
    with launches.record_launches(compiling=True) as recorder, NoDeviceGuards():

        def fake_inputs() -> Mapping[str, Any]:
            for module in modules_of(built.function):
                module.to(device)
            return {name: empty(built.shapes[name], device) for name in built.names}

        static = figures(recorder.of_timed_call(bind), fake_inputs, limits, owners=owners)
    if on_cpu:
        static = dataclasses.replace(static, warnings=(*static.warnings, CPU_TRACE))
    if recorder.refusal is not None:
        raise recorder.refusal
    return static, recorder


def compile_call(
    built: Built, mode: str, gpu: Target, limits: TraceLimits, *, owners: bool = False
) -> Static:
    """The static figures of a call, with those of every kernel that it launches."""
    from harness.worker.frameworks.triton.framework import without_kernel_figures

    static, recorder = compile_launches(built, mode, limits, owners=owners)
    if not recorder.launches:
        return static
    kernels = compiled_kernels(recorder, gpu)
    traced = without_kernel_figures(static, [launch.kernel for launch in recorder.launches])
    if static.program is None:
        return dataclasses.replace(traced, kernels=kernels)
    digest = sha256("\n".join([static.program, *(kernel.program for kernel in kernels)]).encode())
    return dataclasses.replace(
        traced,
        kernels=kernels,
        program=f"sha256:{digest.hexdigest()}",
        unavailable={name: why for name, why in traced.unavailable.items() if name != "program"},
    )


def compiled_kernels(recorder: Recorder, gpu: Target) -> tuple[KernelFigures, ...]:
    """The figures of every launched kernel, per configuration and grid."""
    from harness.worker.frameworks.triton.launches import count_launches

    cubins = dict.fromkeys(launch.compiled.asm["cubin"] for launch in recorder.launches)
    with ThreadPoolExecutor(usable_cores()) as threads:  # NVIDIA's tools are slower than Triton's compiler
        list(threads.map(machine_code.read, cubins, repeat(machine_code.tools_folder())))
    return tuple(kernel_figures(launch, count, gpu) for launch, count in count_launches(recorder.launches))


def kernel_figures(launch: Any, count: int, gpu: Target) -> KernelFigures:
    """The figures of one compiled kernel on this target: registers, shared memory, occupancy."""
    metadata, source = launch.compiled.metadata, launch.compiled.asm.get("ttir")
    return launched_kernel(
        machine_code.read(launch.compiled.asm["cubin"], machine_code.tools_folder()),
        gpu,
        kernel=launch.kernel,
        source=launch.source,
        grid=launch.grid,
        warps=metadata.num_warps,
        dynamic_shared_bytes=metadata.shared,
        tensor_memory_columns=getattr(metadata, "tmem_size", 0) or 0,
        products=source and len(PRODUCT.findall(source)),
        launches=count,
        configuration=launch.configuration,
        overflows=launch.overflows,
    )
