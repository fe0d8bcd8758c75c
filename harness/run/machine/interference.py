"""Interference while a group was sampled: steal, CPU quota, thermal throttling, clock changes.

A reading cannot show that its machine was slowed; counters of the kernel and the driver can. They
become a warning on every time of the group, whose cases share the machine. No reading is dropped
for it, and a counter that cannot be read gives no warning.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.core.machine import control_groups, kernel_text
from harness.core.process_tree import with_descendants
from harness.core.record import GpuReading
from harness.run.machine.gpu_clocks import GpuClocks, clock_warnings, open_clocks

STEAL = 0.05  # tolerated share of the wanted time that is stolen, or of quota periods that are used up
LEAST_JIFFIES = 100  # the least wanted time for which a share is meaningful
LEAST_PERIODS = 10  # the least number of quota periods, mostly of 100 ms, for the same
CLOCK = 0.90  # of the highest clock; a lower one is more than ripple
LOOK_SECONDS = 1e-3  # that reading the clocks may take per round
FREE_LOOKS = 10  # rounds' worth of that time in advance, since the first reads are slow
GPU_LOOK_SECONDS = 5e-3  # that reading a GPU may take per round: five queries of its driver


@dataclass(frozen=True)
class MachineCounters:
    """The files that counters are read from, and the cores that this process may use."""

    stat: Path = Path("/proc/stat")
    cpus: Path = Path("/sys/devices/system/cpu")
    cores: frozenset[int] = field(default_factory=lambda: frozenset(os.sched_getaffinity(0)))
    groups: tuple[Path, ...] = field(default_factory=lambda: tuple(control_groups("cpu")))


class Interference:
    """Observes from its creation on; call `look` once a round and `warnings` at the end."""

    def __init__(
        self,
        device: str,
        now: Callable[[], float] = time.perf_counter,
        machine: MachineCounters | None = None,
        open_gpu: Callable[[], GpuClocks | str] = open_clocks,
    ) -> None:
        self.device, self.now = device, now
        self.machine = machine or MachineCounters()
        self.clock_files = [
            path
            for core in sorted(self.machine.cores)
            if (path := self.machine.cpus / f"cpu{core}/cpufreq/scaling_cur_freq").exists()
        ]
        self.clocks: list[int] = []
        self.looked_s = self.gpu_looked_s = 0.0
        self.rounds = 0
        self.gpu = open_gpu() if device == "cuda" else None
        self.gpu_readings: list[GpuReading] = []
        self.begun, self.own_s = now(), own_seconds()
        self.throttles = throttles(self.machine)
        self.jiffies = jiffies(self.machine)
        self.quota_periods = quota_periods(self.machine)

    def look(self) -> None:
        """Record the clocks, unless reading them has proved slow: some kernels take 10 ms for each core."""
        if self.gpu_looked_s <= GPU_LOOK_SECONDS * (self.rounds + FREE_LOOKS):
            self._look_at_gpu()
        self.rounds += 1
        if not self.clock_files or self.looked_s > LOOK_SECONDS * (len(self.clocks) + FREE_LOOKS):
            return
        start = self.now()
        clock = highest_clock_khz(self.clock_files)
        self.looked_s += self.now() - start
        if clock is not None:
            self.clocks.append(clock)

    def _look_at_gpu(self) -> None:
        if isinstance(self.gpu, GpuClocks):
            start = self.now()
            self.gpu_readings.append(self.gpu.read(self.rounds))
            self.gpu_looked_s += self.now() - start

    def other_load(self) -> float | None:
        """Cores that programs outside of this process's tree kept busy since the start, on average."""
        after, passed_s = jiffies(self.machine), self.now() - self.begun
        if self.jiffies is None or after is None or passed_s <= 0:
            return None
        stolen, wanted = after[0] - self.jiffies[0], after[1] - self.jiffies[1]
        busy_s = (wanted - stolen) / os.sysconf("SC_CLK_TCK")
        return max(0.0, busy_s - (own_seconds() - self.own_s)) / passed_s

    def warnings(self) -> list[str]:
        """One sentence with a remedy per kind of interference since the start; reads the GPU once more."""
        self._look_at_gpu()
        sentences = [
            _steal_warning(self.jiffies, jiffies(self.machine)),
            _quota_warning(self.quota_periods, quota_periods(self.machine)),
            _throttling_warning(self.throttles, throttles(self.machine)),
            _clock_warning(self.clocks),
            *([self.gpu] if isinstance(self.gpu, str) else clock_warnings(self.gpu_readings)),
        ]
        return [sentence for sentence in sentences if sentence]


def own_seconds() -> float:
    """Processor time of this process and all below it, with that of children that have ended."""
    ticks = 0
    for pid in with_descendants(os.getpid()):
        # utime, stime, cutime and cstime are the 14th to the 17th field (proc_pid_stat(5)).
        fields = kernel_text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def jiffies(machine: MachineCounters) -> tuple[int, int] | None:
    """(stolen, wanted) time of the usable cores since boot; wanted is all but idle time, stolen included.

    Idle time is left out because it cannot be stolen: it would dilute the share of a busy core.
    """
    stolen = wanted = 0
    counted = False
    for line in kernel_text(machine.stat).splitlines():
        name, *fields = line.split()
        if not name.startswith("cpu") or not name[3:].isdigit() or int(name[3:]) not in machine.cores:
            continue
        if len(fields) < 8:
            return None
        # The fields after these, guest and guest_nice, are already in user and nice (proc_stat(5)).
        user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
        stolen += steal
        wanted += user + nice + system + irq + softirq + steal
        counted = True
    return (stolen, wanted) if counted else None


def quota_periods(machine: MachineCounters) -> tuple[int, int]:
    """(used up, all) periods of the CPU quotas of this process's control groups since they were made."""
    counts: Counter[str] = Counter()
    for folder in machine.groups:
        for line in kernel_text(folder / "cpu.stat").splitlines():
            name, _, value = line.partition(" ")
            counts[name] += int(value) if value.isdigit() else 0
    return counts["nr_throttled"], counts["nr_periods"]


def throttles(machine: MachineCounters) -> dict[int, int]:
    """Core → count of thermal throttling since boot, for the usable cores that have the counter."""
    counts = {
        core: _number(machine.cpus / f"cpu{core}/thermal_throttle/core_throttle_count")
        for core in machine.cores
    }
    return {core: count for core, count in counts.items() if count is not None}


def highest_clock_khz(clock_files: Iterable[Path]) -> int | None:
    """The highest clock in kHz: idle cores clock down, and this process keeps at least one busy."""
    return max(filter(None, map(_number, clock_files)), default=None)


def _steal_warning(before: tuple[int, int] | None, after: tuple[int, int] | None) -> str | None:
    if before is None or after is None:
        return None
    stolen, wanted = after[0] - before[0], after[1] - before[1]
    if wanted < LEAST_JIFFIES or stolen <= STEAL * wanted:
        return None
    return (
        f"the host took {100 * stolen / wanted:.0f} % of the processor's time away while it was sampled "
        "(steal); measure on a quieter machine, ratios within rounds suffer less"
    )


def _quota_warning(before: tuple[int, int], after: tuple[int, int]) -> str | None:
    used_up, periods = after[0] - before[0], after[1] - before[1]
    if periods < LEAST_PERIODS or used_up <= STEAL * periods:
        return None
    return (
        f"a CPU quota was used up in {100 * used_up / periods:.0f} % of its periods while it was sampled, "
        "and nothing ran till their ends; raise the quota, or give it fewer --threads"
    )


def _throttling_warning(before: Mapping[int, int], after: Mapping[int, int]) -> str | None:
    count = sum(max(0, after[core] - before[core]) for core in before.keys() & after.keys())
    if not count:
        return None
    return (
        f"the processor throttled {count} time{'s' if count > 1 else ''} for heat while it was sampled; "
        "let it cool and measure again, ratios within rounds suffer less"
    )


def _clock_warning(clocks: list[int]) -> str | None:
    if not clocks or min(clocks) >= CLOCK * max(clocks):
        return None
    return (
        f"the processor's clock moved from {min(clocks) / 1e6:.2f} to {max(clocks) / 1e6:.2f} GHz while it "
        "was sampled; hold it with sudo cpupower frequency-set -g performance"
    )


def _number(path: Path) -> int | None:
    text = kernel_text(path).strip()
    return int(text) if text.isdigit() else None
