"""XLA's cross-compiler: a process that compiles cases, one by one, for absent targets.

One process serves all targets of a kind, because a compiler takes a second to start. A target's figures are
exact for the version of its compiler.
"""

import dataclasses
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax
import numpy as np
import psutil
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from harness.catalog import loading
from harness.catalog.accelerators import Accelerator, Target, target, why_not_by_xla
from harness.catalog.build import Built, build
from harness.core.errors import Unsupported
from harness.core.kernel_figures import OnChipOverflow
from harness.core.protocol import Job
from harness.core.static_figures import Static
from harness.xla import figures as xla_figures
from harness.xla import lowering
from harness.xla.gpu_kernels import refuse_unlowered, with_gpu_kernels
from harness.xla.pallas_kernels import LoweredKernel, compile_alone, on_chip_overflow, pallas_kernels

LIBRARIES = {"dnn_version_info": (9, 10, 0), "runtime_version": (13, 0, 0)}  # cuDNN and CUDA to compile for
LINE = re.compile(r"^[IWEF]\d{4} [\d:.]+\s+\d+ \S+?:\d+\] (.*)$")
ANOTHER_PROGRAM = re.compile(r"(?i)fallback|falls? back|falling back|slower at runtime")
LENGTH = 240
EXHAUSTED = "RESOURCE_EXHAUSTED"
ENVIRONMENT = {  # read by plugins when they are loaded, for the first target
    "TF_CPP_MIN_LOG_LEVEL": "1",  # warnings and up: some report a fallback to another program
    "TPU_SKIP_MDS_QUERY": "1",  # do not look for a TPU
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5p-8",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_LOG_DIR": "disabled",
    "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",  # compiling does not load CUDA's libraries
}


@cache
def target_devices(name: str) -> list[Any]:
    """The devices of a target's topology, in its order. Unsupported without its compiler."""
    wanted = target(name)
    if missing := why_not_by_xla(wanted):
        raise Unsupported(missing)
    if wanted.accelerator is None:
        raise Unsupported("the host uses its own compiler")
    if wanted.kind == "tpu":
        options: dict[str, Any] = {"topology_name": wanted.topology}
    else:
        shape = wanted.topology
        config = target_config(wanted.accelerator)
        options = {"topology_name": shape, "topology": shape, "target_config": config}
    try:
        return list(topologies.get_topology_desc(platform=wanted.kind, **options).devices)
    except jax.errors.JaxRuntimeError as error:
        if not str(error).startswith("INVALID_ARGUMENT"):
            raise
        why = str(error).splitlines()[0]
        raise Unsupported(f"{name}: its compiler rejects the topology ({why})") from None


def target_config(gpu: Accelerator) -> str:
    """XLA's GpuTargetConfig as text, from the accelerator's file."""
    facts = dict(gpu.gpu)
    major, _, minor = str(facts.pop("compute_capability")).partition(".")
    fields: dict[str, Any] = {
        **facts,
        "memory_bandwidth": int(gpu.bandwidth_bytes_s),
        "device_memory_size": gpu.memory_bytes,
        "cuda_compute_capability": {"major": int(major), "minor": int(minor)},
    }
    versions = {
        name: dict(zip(("major", "minor", "patch"), parts, strict=True)) for name, parts in LIBRARIES.items()
    }
    named = {"gpu_device_info": fields, "platform_name": "CUDA", **versions}
    return _text({**named, "device_description_str": gpu.chip})


def _text(message: Mapping[str, Any]) -> str:
    """A protocol buffer's text form."""
    parts: list[str] = []
    for name, value in message.items():
        if isinstance(value, Mapping):
            parts.append(f"{name} {{ {_text(value)} }}")
        else:
            parts.append(f'{name}: "{value}"' if isinstance(value, str) else f"{name}: {value}")
    return " ".join(parts)


@contextmanager
def capture_stderr() -> Generator[Callable[[], str]]:
    """Capture standard error of the whole process, including native code; the yielded function reads it."""
    log, stderr = os.memfd_create("compiler-log"), os.dup(2)
    sys.stderr.flush()
    os.dup2(log, 2)

    def read() -> str:
        sys.stderr.flush()
        size = os.fstat(log).st_size
        return os.pread(log, min(size, 1 << 20), 0).decode(errors="replace")

    try:
        yield read
    finally:
        sys.stderr.flush()
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(log)


def fallback_warnings(text: str) -> tuple[str, ...]:
    """The distinct messages in which the compiler reports a fallback to another program."""
    lines = (match[1] for line in text.splitlines() if (match := LINE.match(line)))
    messages = filter(ANOTHER_PROGRAM.search, lines)
    return tuple(dict.fromkeys(f"the compiler reports: {message.strip()[:LENGTH]}" for message in messages))


class Compiler:
    """Executes `compile` jobs, any number of them, one at a time."""

    def __init__(self, job: Job) -> None:
        # libtpu's glog writes two files per process to the first of TEST_TMPDIR, TMPDIR, TMP and /tmp.
        # Nothing else reads TEST_TMPDIR, and the job's folder is removed with its executor.
        os.environ.update({**ENVIRONMENT, "TEST_TMPDIR": job.folder})
        self.spent = False  # whether the compiler has given a warning, which it may give only once

    def do_compile(self, job: Mapping[str, Any], name: str, owners: bool = False) -> dict[str, Any]:
        """The static figures of a case for a target, and its other facts that need no run.

        With `owners`, the figures include the buffers of the planned peak.
        """
        request = Job.from_json(job)
        case = request.case
        jax.config.update("jax_enable_x64", dict(case.workload).get("dtype") == "f64")
        devices = target_devices(name)
        built = build(loading.load(request.module), case)
        static = self._figures(built, case.mode, devices, name, owners=owners)
        return {
            **built.describe(static),
            "resident_bytes": psutil.Process().memory_info().rss,
            "spent": self.spent,
        }

    def _figures(self, built: Built, mode: str, devices: list[Any], name: str, *, owners: bool) -> Static:
        start = time.perf_counter()
        # Pallas kernels query this device for the TPU they are lowered for. An abstract mesh also works,
        # but jax 0.10.2 then lowers kernels differently than on a TPU.
        with jax.default_device(devices[0]):
            traced = case_program(built, mode, devices, name).trace()
            lowered = _lower(traced, target(name))
            middle = time.perf_counter()
            kernels = pallas_kernels(traced.jaxpr, devices[0], target(name))
        begun = time.perf_counter()
        with capture_stderr() as read_log:
            try:
                compiled = lowered.compile()
            except jax.errors.JaxRuntimeError as error:
                if not str(error).startswith(EXHAUSTED):
                    raise
                overflow = on_chip_overflow(str(error))
                return overflow_figures(overflow, kernels) if overflow else out_of_memory_figures(str(error))
            finally:
                end = time.perf_counter()
                log = read_log()
                self.spent = self.spent or bool(fallback_warnings(log))
            static = xla_figures.figures(
                compiled,
                target(name).kind,
                lower_s=middle - start,
                compile_s=end - begun,
                kernels=[kernel.figures for kernel in kernels],
                owners=owners,
            )
            static = with_gpu_kernels(static, compiled, traced.jaxpr, target(name))
        return dataclasses.replace(static, warnings=(*static.warnings, *fallback_warnings(log)))


def _lower(traced: Any, wanted: Target) -> Any:
    """Lower a traced program. Unsupported if its Pallas kernels are for another kind of target."""
    try:
        return traced.lower()
    except Exception as error:
        refuse_unlowered(error, traced.jaxpr, wanted)
        raise


def case_program(built: Built, mode: str, devices: list[Any], name: str) -> lowering.Program:
    """The case's program on the first of these devices, or sharded over as many as its workload needs."""
    place, results = shardings(built, mode, devices, name)
    inputs = lowering.structs({name: built.shapes[name] for name in built.names}, place)
    if mode == "fwd":
        return lowering.forward(built.function, inputs, results)
    backward = lowering.Backward(built.function, inputs, results)
    return backward.both() if mode == "fwd_bwd" else backward.pullback()[1]


def shardings(built: Built, mode: str, devices: list[Any], name: str) -> tuple[lowering.Place, Any]:
    """(placement of each input, placement of the results). Unsupported if there are too few devices."""
    sharding = built.family.sharding(built.workload)
    if sharding is None:
        here = SingleDeviceSharding(devices[0])
        return (lambda _: here), here
    if len(devices) < sharding.devices:
        raise Unsupported(
            f"it needs {sharding.devices} devices and {name} has {len(devices)}; "
            "name a topology of that size, for example tpu:v5p:4x4x8"
        )
    if mode != "fwd":
        raise Unsupported("a workload on several devices is compiled only forward; use --mode fwd")
    mesh = Mesh(np.array(devices[: sharding.devices]), (sharding.axis,))

    def place(path: tuple[str, ...]) -> NamedSharding:
        spec: Any = sharding.inputs
        for part in path:
            spec = spec[part]
        return NamedSharding(mesh, PartitionSpec(*spec))

    results = None if sharding.outputs is None else NamedSharding(mesh, PartitionSpec(*sharding.outputs))
    return place, results


def out_of_memory_figures(message: str) -> Static:
    """Figures of a program whose plan exceeds the device's memory, with the compiler's message."""
    first = message.strip().splitlines()[0].removeprefix(f"{EXHAUSTED}:").strip()
    reason = f"the compiler ran out of the device's memory: {first}"
    return dataclasses.replace(Static.none(reason), fits=False)


def overflow_figures(overflow: OnChipOverflow, kernels: Sequence[LoweredKernel]) -> Static:
    """Figures of a program with a kernel that exceeds a core's on-chip memory.

    The compiler's message does not say which of several kernels, so each is compiled separately.
    """
    figures = tuple(compile_alone(kernel) for kernel in kernels)
    refused = [f"{kernel.label} {kernel.refused}" for kernel in figures if kernel.refused]
    reason = "; ".join(refused) or f"the program {overflow.sentence()}"
    return dataclasses.replace(Static.none(reason), fits=False, overflow=overflow, tpu_kernels=figures)
