"""The resources of this machine: its processor, and the memory and cores that this process may use."""

import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import MachineError
from harness.core.units import parse_bytes

CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor; `features` are the sorted names of its instruction-set extensions."""

    name: str
    features: tuple[str, ...]


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> Processor:
    """The first processor that the kernel lists. Its features are `flags` on x86, `Features` on Arm."""
    first = kernel_text(cpuinfo).split("\n\n")[0]
    keys = (line.partition(":") for line in first.splitlines())
    values = {key.strip(): value.strip() for key, _, value in keys}
    features = values.get("flags") or values.get("Features") or ""
    return Processor(values.get("model name") or platform.processor(), tuple(sorted(features.split())))


def usable_memory(meminfo: Path = Path("/proc/meminfo")) -> int:
    """The bytes of RAM, or of the control group's limit if that is lower. MachineError without /proc."""
    _, _, size = kernel_text(meminfo).partition("MemTotal:")
    if not size:
        raise MachineError(f"{meminfo} cannot be read, but the memory monitor needs it; mount /proc")
    total = int(size.split()[0]) * 1024
    limit = control_group_limit()
    return total if limit is None else min(total, limit)


def first_visible_gpu() -> str | None:
    """The first GPU in CUDA_VISIBLE_DEVICES; None if that hides all GPUs.

    It is an index, a prefix of a UUID (`GPU-…`), or a part of a GPU (`MIG-…`); other words hide all GPUs.
    """
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    return first if first.isdigit() or first.startswith(("GPU-", "MIG-")) else None


def usable_cores() -> int:
    """The cores this process may be scheduled on."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class DataCache:
    """A data cache or unified cache. `shared_by` are the kernel's numbers of its cores."""

    level: int
    size_bytes: int
    is_unified: bool
    shared_by: frozenset[int]


def data_caches(core: int, system: Path = CPUS) -> list[DataCache]:
    """A core's data caches by level, from the kernel; empty if the kernel does not describe them."""
    found: list[DataCache] = []
    for folder in sorted((system / f"cpu{core}/cache").glob("index*")):
        level, kind, size, shared = (
            kernel_text(folder / name).strip() for name in ("level", "type", "size", "shared_cpu_list")
        )
        if level and size and kind in {"Data", "Unified"}:
            cores = _numbers(shared) or frozenset([core])
            found.append(DataCache(int(level), parse_bytes(f"{size}iB"), kind == "Unified", cores))
    return found


def caches(cores: Iterable[int], system: Path = CPUS) -> dict[str, int]:
    """The total bytes of these cores' data caches by level (`L1`, `L2`, …); empty if unknown."""
    distinct = {cache for core in cores for cache in data_caches(core, system)}
    levels: dict[str, int] = {}
    for cache in sorted(distinct, key=lambda cache: cache.level):
        levels[f"L{cache.level}"] = levels.get(f"L{cache.level}", 0) + cache.size_bytes
    return levels


def _numbers(ranges: str) -> frozenset[int]:
    """`0-2,8` → 0, 1, 2, 8."""
    ends = [part.partition("-") for part in ranges.split(",") if part]
    return frozenset(n for low, _, high in ends for n in range(int(low), int(high or low) + 1))


def control_groups(
    controller: str, root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")
) -> Iterator[Path]:
    """The folders of this process's control groups for a controller (v1 or v2), and of their parents.

    In a container the listed group may be outside the mounted tree; its root then has the files.
    """
    for line in kernel_text(membership).splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        base = root / controller if controllers else root
        folder = base / group.lstrip("/")
        for place in (folder, *folder.parents):
            yield place
            if place == base:
                break


def control_group_limit(
    root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")
) -> int | None:
    """The lowest memory limit of this process's control groups."""
    files = (
        folder / name
        for folder in control_groups("memory", root, membership)
        for name in ("memory.max", "memory.limit_in_bytes")
    )
    limits = [int(written) for file in files if (written := kernel_text(file).strip()).isdigit()]
    return min(limits, default=None)


def kernel_text(path: Path) -> str:
    """The text of a kernel's file; empty if it does not exist or cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""
