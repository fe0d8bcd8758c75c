"""Accelerators and compilation targets; each accelerator has a data file that cites its source."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from harness.core.errors import UsageError, nearest
from harness.core.version import version_of


class Multiprocessor(NamedTuple):
    """The limits of one streaming multiprocessor of NVIDIA's GPUs.

    They are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
    """

    warps: int
    blocks: int
    shared_bytes: int  # for all blocks together
    shared_block_bytes: int  # for one block that requests more than 48 KiB


KIB = 1024
CAPABILITIES: Mapping[str, Multiprocessor] = {
    "8.0": Multiprocessor(64, 32, 164 * KIB, 163 * KIB),
    "8.6": Multiprocessor(48, 16, 100 * KIB, 99 * KIB),
    "8.7": Multiprocessor(48, 16, 164 * KIB, 163 * KIB),
    "8.9": Multiprocessor(48, 24, 100 * KIB, 99 * KIB),
    "9.0": Multiprocessor(64, 32, 228 * KIB, 227 * KIB),
    "10.0": Multiprocessor(64, 32, 228 * KIB, 227 * KIB),
    "10.3": Multiprocessor(64, 32, 228 * KIB, 227 * KIB),
    "12.0": Multiprocessor(48, 24, 100 * KIB, 99 * KIB),
}

HOST = "host"
# GPUs named only by compute capability, as NVIDIA's compilers name them.
CAPABILITY_TARGETS = {f"cuda:sm_{number.replace('.', '')}": number for number in CAPABILITIES}
FILES = Path(__file__).with_suffix("")
COMPILERS = {
    "tpu": ("libtpu", ("libtpu",)),
    "cuda": ("jax's CUDA plugin", ("jax-cuda13-plugin", "jax-cuda12-plugin")),
}


@dataclass(frozen=True)
class Accelerator:
    """One device of a kind (`tpu`, `cuda`), as described by its file under `accelerators/`.

    `called` are the driver's names for exactly this device, not for variants with other peaks. `peak_flops`
    are dense FLOP/s by dtype. `vector_ops` are elementwise operations per second of all vector units of a TPU
    device; None where no source gives them. `topology` is a TPU's (`name`, `dimensions`); `gpu` has the facts
    that XLA needs about a GPU, under XLA's names. `kernel_vmem_bytes` is the default limit of a kernel's
    scoped VMEM on a TPU core.
    """

    name: str
    chip: str
    memory_bytes: int
    bandwidth_bytes_s: float
    source: str
    peak_flops: Mapping[str, float]
    topology: Mapping[str, Any] = field(default_factory=dict)
    gpu: Mapping[str, Any] = field(default_factory=dict)
    vector_ops: float | None = None
    kernel_vmem_bytes: int = 0
    called: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return self.name.split(":")[0]


@dataclass(frozen=True)
class Target:
    """A compilation target: the host, or an accelerator's devices in a topology (`v5p:4x4x8`, `1x1x1`).

    `capability` is a GPU's (`9.0`). A target named only by it (`cuda:sm_90`) has no accelerator: its number
    of multiprocessors and its memory are not known.
    """

    name: str
    accelerator: Accelerator | None = None
    topology: str | None = None
    capability: str | None = None

    @property
    def kind(self) -> str:
        if self.accelerator is not None:
            return self.accelerator.kind
        return "cuda" if self.capability else HOST


@cache
def accelerators() -> Mapping[str, Accelerator]:
    """Every accelerator that has a data file, by name."""
    devices = (
        Accelerator(**tomllib.loads(path.read_text(encoding="utf-8")))
        for path in sorted(FILES.glob("*.toml"))
    )
    return {device.name: device for device in devices}


def target(name: str) -> Target:
    """`host`, `cuda:h200`, `cuda:sm_90`, `tpu:v5p` or `tpu:v5p:4x4x8`. UsageError for any other."""
    if name == HOST:
        return Target(HOST)
    if name in CAPABILITY_TARGETS:
        return Target(name, capability=CAPABILITY_TARGETS[name])
    kind, _, rest = name.partition(":")
    short, colon, shape = rest.partition(":")
    known = accelerators()
    accelerator = known.get(f"{kind}:{short}")
    if accelerator is None:
        raise UsageError(f'unknown target "{name}"{nearest(name, [HOST, *known, *CAPABILITY_TARGETS])}')
    if accelerator.kind == "cuda":
        if colon:
            raise UsageError(f'"{name}": a GPU target is a single device; write {accelerator.name}')
        return Target(name, accelerator, "1x1x1", str(accelerator.gpu["compute_capability"]))
    topology = str(accelerator.topology["name"])
    if colon:
        wanted = accelerator.topology["dimensions"]
        if not re.fullmatch(rf"[1-9]\d*(x[1-9]\d*){{{wanted - 1}}}", shape):
            example = topology.partition(":")[2]
            raise UsageError(
                f'"{name}": a topology of {accelerator.chip} has {wanted} dimensions; write it like {example}'
            )
        topology = f"{topology.partition(':')[0]}:{shape}"
    return Target(name, accelerator, topology)


def memory_of(name: str) -> int | None:
    """The memory of one device of a target in bytes; None for the host, for which a run sets the limit."""
    accelerator = target(name).accelerator
    return accelerator.memory_bytes if accelerator else None


def accelerator_called(name: str) -> Accelerator | None:
    """The accelerator with this driver name; None if no data file has it."""
    return next((device for device in accelerators().values() if name in device.called), None)


def missing_compiler(kind: str) -> str | None:
    """The missing compiler for this kind of target, with the command that installs it; None if installed."""
    what, packages = COMPILERS[kind]
    return None if any(map(version_of, packages)) else f"{what} is not installed; pip install -e '.[{kind}]'"


def why_not_by_xla(wanted: Target) -> str | None:
    """The reason why XLA cannot compile for a target here; None if it can."""
    if wanted.kind == HOST:
        return None
    if wanted.accelerator is None:
        return f"{wanted.name} is not a device; name one for XLA, for example --target cuda:h100"
    return missing_compiler(wanted.kind)
