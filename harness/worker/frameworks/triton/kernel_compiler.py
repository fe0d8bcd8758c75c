"""The process that compiles Triton kernels for GPUs that are not at hand, one case after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
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
from harness.cubin.launched_kernel import launched_kernel
from harness.cubin.occupancy import THREADS_PER_WARP
from harness.worker.frameworks.base import Patience
from harness.worker.frameworks.triton.environment import prepare_environment

if TYPE_CHECKING:
    from harness.worker.frameworks.triton.launches import Recorder

TRACE_SECONDS = 120.0  # of all configurations of all kernels of a call
STANDS_IN = (
    "traced over the cpu's tensors, since this torch has no CUDA: where a call asks, it takes the cpu's way"
)


class KernelCompiler:
    """Answers `compile`, as often as it is asked; each time with a job of its own."""

    def __init__(self, job: Job) -> None:
        self.cache = Path(job.folder) / "triton"

    def do_compile(self, job: Mapping[str, Any], name: str, owners: bool = False) -> dict[str, Any]:
        """The figures of a case for a target, and its other facts that need no run."""
        request = Job.from_json(job)
        wanted = gpu_of(name)
        prepare_environment(interpret=False, cache=self.cache)
        use_absent_gpu(wanted)  # a builder may ask Triton for it
        built = build(loading.load(request.module), request.case)
        static = compile_call(
            *(built, request.case.mode, wanted),
            Patience(TRACE_SECONDS, request.memory_bytes * 1000),
            owners=owners,
        )
        return {
            **built.describe(static),
            "resident_bytes": psutil.Process().memory_info().rss,
            "spent": False,
        }


def gpu_of(name: str) -> Target:
    """The target of this name. Unsupported where it is no GPU."""
    wanted = target(name)
    if wanted.capability is None:
        raise Unsupported(f"Triton compiles for GPUs, not for {name}; name one as in --target cuda:h100")
    return wanted


def use_absent_gpu(wanted: Target) -> None:
    """Let Triton compile for a GPU as if it were the active device."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.runtime import cache, driver

    from harness.worker.frameworks.triton.launches import AbsentDevice

    architecture = int(str(wanted.capability).replace(".", ""))
    driver.set_active(AbsentDevice(GPUTarget("cuda", architecture, THREADS_PER_WARP)))
    # The key of its cache has a hash of all that Triton consists of, half a second's work; this cache is as
    # old as the process.
    cache.triton_key = lambda: triton.__version__


def compile_call(
    built: Built, mode: str, wanted: Target, patience: Patience, *, owners: bool = False
) -> Static:
    """Trace a call over fake tensors on the device that is not here, and compile every kernel it launches."""
    import torch

    from harness.worker.frameworks.torch.arrays import empty
    from harness.worker.frameworks.torch.binding import bind as bind_call
    from harness.worker.frameworks.torch.trace import figures
    from harness.worker.frameworks.triton import launches
    from harness.worker.frameworks.triton.framework import uncounted
    from harness.worker.frameworks.triton.guards import NoDeviceGuards

    # A torch without CUDA ends the process where its autograd meets a CUDA tensor, fake or not.
    stands_in = mode != "fwd" and not torch.backends.cuda.is_built()
    device = torch.device("cpu") if stands_in else torch.device("cuda", 0)

    def bind(inputs: Mapping[str, Any], cotangent: Any) -> Any:
        return bind_call(built.function, built.names, mode, inputs, cotangent)

    torch.set_grad_enabled(mode != "fwd")
    with launches.recorded(compiling=True) as recorder, NoDeviceGuards():
        inputs = {name: built.shapes[name] for name in built.names}
        static = figures(
            recorder.of_timed_call(bind),
            lambda: {name: empty(shape, device) for name, shape in inputs.items()},
            patience,
            owners=owners,
        )
    if stands_in:
        static = dataclasses.replace(static, warnings=(*static.warnings, STANDS_IN))
    if recorder.refusal is not None:
        raise recorder.refusal
    if not recorder.launches:
        return static
    kernels = compiled_kernels(recorder, wanted)
    counted = uncounted(static, [launch.kernel for launch in recorder.launches])
    if static.program is None:
        return dataclasses.replace(counted, kernels=kernels)
    digest = sha256("\n".join([static.program, *(kernel.program for kernel in kernels)]).encode())
    return dataclasses.replace(
        counted,
        kernels=kernels,
        program=f"sha256:{digest.hexdigest()}",
        unavailable={name: why for name, why in counted.unavailable.items() if name != "program"},
    )


def compiled_kernels(recorder: Recorder, wanted: Target) -> tuple[KernelFigures, ...]:
    """The figures of every kernel that was launched, in each configuration and on each grid once."""
    from harness.worker.frameworks.triton.launches import counted

    read_machine_code([recorder])
    return tuple(kernel_figures(launch, count, wanted) for launch, count in counted(recorder.launches))


def read_machine_code(recorders: Iterable[Recorder]) -> None:
    """Read what was compiled, several kernels at once: NVIDIA's tools take longer than Triton."""
    compiled = [launch.compiled for recorder in recorders for launch in recorder.launches]
    cubins = dict.fromkeys(kernel.asm["cubin"] for kernel in compiled)
    with ThreadPoolExecutor(usable_cores()) as threads:
        list(threads.map(machine_code.read, cubins, repeat(machine_code.tools_folder())))


def kernel_figures(launch: Any, count: int, wanted: Target) -> KernelFigures:
    """What one compiled kernel takes of a multiprocessor of this target."""
    metadata = launch.compiled.metadata
    return launched_kernel(
        machine_code.read(launch.compiled.asm["cubin"], machine_code.tools_folder()),
        wanted,
        kernel=launch.kernel,
        source=launch.source,
        grid=launch.grid,
        warps=metadata.num_warps,
        dynamic_shared_bytes=metadata.shared,
        tensor_memory_columns=getattr(metadata, "tmem_size", 0) or 0,
        launches=count,
        configuration=launch.configuration,
    )
