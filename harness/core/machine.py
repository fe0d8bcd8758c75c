"""What this machine offers a run: its processor, and memory and cores as far as this process may use them."""

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import MachineError
from harness.core.units import parse_bytes


@dataclass(frozen=True, slots=True)
class Processor:
    """`features` are the names, sorted, by which compilers and kernels choose instructions."""

    name: str
    features: tuple[str, ...]


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> Processor:
    """The first processor that the kernel lists; it calls the features `flags` on x86, `Features` on Arm."""
    first = _read_text(cpuinfo).split("\n\n")[0]
    keys = (line.partition(":") for line in first.splitlines())
    values = {key.strip(): value.strip() for key, _, value in keys}
    features = values.get("flags") or values.get("Features") or ""
    return Processor(values.get("model name") or platform.processor(), tuple(sorted(features.split())))


def usable_memory(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Bytes of RAM, or of the control group's limit where that is lower. MachineError without /proc."""
    _, _, size = _read_text(meminfo).partition("MemTotal:")
    if not size:
        raise MachineError(f"{meminfo} cannot be read, and no process is watched without it; mount /proc")
    total = int(size.split()[0]) * 1024
    limit = control_group_limit()
    return total if limit is None else min(total, limit)


def usable_cores() -> int:
    """The cores this process may be scheduled on."""
    return len(os.sched_getaffinity(0))


def caches(cores: Iterable[int], system: Path = Path("/sys/devices/system/cpu")) -> dict[str, int]:
    """`L1`, `L2`, … → the bytes of data that these cores have there together; empty where nobody says."""
    levels: dict[str, dict[str, int]] = {}
    for core in cores:
        for cache in sorted((system / f"cpu{core}/cache").glob("index*")):
            told = {name: _read_text(cache / name).strip() for name in ("level", "type", "size")}
            if all(told.values()) and told["type"] != "Instruction":
                shared = _read_text(cache / "shared_cpu_list")  # cores that share one count it once
                levels.setdefault(f"L{told['level']}", {})[shared] = parse_bytes(f"{told['size']}iB")
    return {name: sum(sizes.values()) for name, sizes in sorted(levels.items())}


def control_group_limit(
    root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")
) -> int | None:
    """The tightest memory limit of this process's control groups (v1 or v2) and their parents.

    Inside a container the listed group may lie outside the mounted tree; its root then holds the limit.
    """
    limits: list[int] = []
    for line in _read_text(membership).splitlines():
        _, controllers, group = line.split(":", 2)
        if not controllers:
            base, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            base, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        folder = base / group.lstrip("/")
        for place in (folder, *folder.parents):
            written = _read_text(place / name).strip()
            if written.isdigit():
                limits.append(int(written))
            if place == base:
                break
    return min(limits, default=None)


def _read_text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""  # no such group, or no control groups at all: no limit
