"""Interference while a group was sampled: steal, CPU quota, thermal throttling, clock changes.

A sample cannot show that its machine was slowed; counters of the kernel and the driver can. They cause a
warning on every time of the group, because its cases share the machine. No sample is dropped for it, and a
counter that cannot be read causes no warning.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.core.machine import control_groups, first_visible_gpu, kernel_text
from harness.core.process_tree import with_descendants
from harness.core.record import GpuReading

IDLE = 0x1  # of nvmlClocksEventReasons (nvml.h): the clock is low because nothing runs
# Reasons of nvmlClocksEventReasons that are not settings of the user.
SLOWDOWNS = {0x4: "power cap", 0x8: "hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "power brake"}
GPU_CLOCK = 0.97  # of the highest; NVIDIA's steps of 15 MHz are below one per cent
CLOCK = 0.90  # of a processor's highest; a lower one is more than ripple
SHARE = 0.05  # tolerated share of the wanted time that is stolen, or of exhausted quota periods
LEAST_JIFFIES = 100  # the least wanted time for which a share is meaningful
LEAST_PERIODS = 10  # the least number of quota periods, mostly of 100 ms, for the same purpose
LOOK_SECONDS = 5e-3  # time limit per round for reading clocks: some kernels take 10 ms for each core
FREE_LOOKS = 10  # rounds' worth of that time in advance, because the first reads are slow
STOLEN = (
    "the host took {:.0f} % of the processor's time during sampling (steal); "
    "measure on a quieter machine (ratios within rounds are affected less)"
)
EXHAUSTED = (
    "a CPU quota was exhausted in {:.0f} % of its periods during sampling, "
    "which paused the processes; raise the quota, or use fewer --threads"
)
THROTTLED = (
    "the processor throttled {} times for heat during sampling; "
    "let it cool and measure again (ratios within rounds are affected less)"
)
LOCK = "lock it with nvidia-smi --lock-gpu-clocks"
FIX = "fix it with sudo cpupower frequency-set -g performance"


class GpuClocks:
    """The clocks of the first visible GPU. Raises NVMLError if NVML does not know the GPU."""

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        nvml.nvmlInit()
        name = first_visible_gpu() or ""
        find = nvml.nvmlDeviceGetHandleByIndex if name.isdigit() else nvml.nvmlDeviceGetHandleByUUID
        self.gpu = find(int(name) if name.isdigit() else name)

    def read(self, round_: int) -> GpuReading:
        """The current readings, before round `round_`; None for those that the driver does not support."""
        nvml, query = self.nvml, self._query
        milliwatts = query(nvml.nvmlDeviceGetPowerUsage)
        return GpuReading(
            round=round_,
            sm_mhz=query(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            memory_mhz=query(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM),
            celsius=query(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            watts=None if milliwatts is None else milliwatts / 1000,
            reasons=query(nvml.nvmlDeviceGetCurrentClocksThrottleReasons),  # all drivers know this name
        )

    def _query(self, query: Callable[..., int], *arguments: int) -> int | None:
        try:
            return query(self.gpu, *arguments)
        except self.nvml.NVMLError:
            return None


def open_clocks() -> GpuClocks | str:
    """The clocks of the first visible GPU, or a sentence on why they cannot be read."""
    try:
        import pynvml
    except ImportError:
        return "the GPU's clocks were not read during sampling; pip install nvidia-ml-py"
    try:
        return GpuClocks(pynvml)
    except pynvml.NVMLError as error:
        return f"the GPU's clocks were not read during sampling (NVML: {error}); see nvidia-smi"


def clock_warnings(readings: Sequence[GpuReading]) -> list[str]:
    """A sentence for each clock that changed while the GPU was busy, and one for throttling."""
    busy = [reading for reading in readings if not (reading.reasons or 0) & IDLE]
    sentences = [
        _clock_warning("GPU's SM", [each.sm_mhz for each in busy], GPU_CLOCK, LOCK),
        _clock_warning("GPU's memory", [each.memory_mhz for each in busy], GPU_CLOCK, LOCK),
        _slowdown_warning(readings),
    ]
    return [sentence for sentence in sentences if sentence]


def _clock_warning(owner: str, mhz: Sequence[int | None], steady: float, remedy: str) -> str | None:
    read = [clock for clock in mhz if clock]
    if not read or min(read) >= steady * max(read):
        return None
    return f"the {owner} clock varied from {min(read)} to {max(read)} MHz during sampling; {remedy}"


def _slowdown_warning(readings: Sequence[GpuReading]) -> str | None:
    slowed = [bits for reading in readings if (bits := (reading.reasons or 0) & sum(SLOWDOWNS))]
    if not slowed:
        return None
    causes = ", ".join(dict.fromkeys(name for bit, name in SLOWDOWNS.items() if any(b & bit for b in slowed)))
    return (
        f"the GPU reduced its clock at {len(slowed)} of {len(readings)} readings between samples ({causes}); "
        "cool it, raise its power limit, or lock its clock with nvidia-smi --lock-gpu-clocks"
    )


@dataclass(frozen=True)
class MachineCounters:
    """The files of the counters, and the cores that this process may use."""

    stat: Path = Path("/proc/stat")
    cpus: Path = Path("/sys/devices/system/cpu")
    cores: frozenset[int] = field(default_factory=lambda: frozenset(os.sched_getaffinity(0)))
    groups: tuple[Path, ...] = field(default_factory=lambda: tuple(control_groups("cpu")))


class Interference:
    """Observes interference from its creation on; call `look` once a round and `warnings` at the end."""

    def __init__(
        self,
        device: str,
        now: Callable[[], float] = time.perf_counter,
        machine: MachineCounters | None = None,
        open_gpu: Callable[[], GpuClocks | str] = open_clocks,
    ) -> None:
        self.device, self.now = device, now
        self.machine = machine or MachineCounters()
        cores = (self.machine.cpus / f"cpu{core}" for core in self.machine.cores)
        self.clock_files = [core / "cpufreq/scaling_cur_freq" for core in cores]
        self.clocks: list[int] = []
        self.looked_s = 0.0
        self.rounds = 0
        self.gpu = open_gpu() if device == "cuda" else None
        self.gpu_readings: list[GpuReading] = []
        self.started_s, self.own_s = now(), own_seconds()
        self.throttles = throttles(self.machine)
        self.jiffies = jiffies(self.machine)
        self.quota_periods = quota_periods(self.machine)

    def look(self) -> None:
        """Record the clocks, unless reading them takes too long."""
        if self.looked_s <= LOOK_SECONDS * (self.rounds + FREE_LOOKS):
            start = self.now()
            self._look_at_gpu()
            clocks = [khz // 1000 for path in self.clock_files if (khz := _number(path))]
            self.clocks += sorted(clocks)[-1:]  # idle cores clock down, and this process keeps one busy
            self.looked_s += self.now() - start
        self.rounds += 1

    def _look_at_gpu(self) -> None:
        if isinstance(self.gpu, GpuClocks):
            self.gpu_readings.append(self.gpu.read(self.rounds))

    def other_load(self) -> float | None:
        """The mean number of cores that programs outside this process's tree used since the start."""
        after, passed_s = jiffies(self.machine), self.now() - self.started_s
        if self.jiffies is None or after is None or passed_s <= 0:
            return None
        stolen, wanted = self._since(self.jiffies, after)
        busy_s = (wanted - stolen) / os.sysconf("SC_CLK_TCK")
        return max(0.0, busy_s - (own_seconds() - self.own_s)) / passed_s

    def warnings(self) -> list[str]:
        """One sentence with a remedy per kind of interference since the start; reads the GPU once more."""
        self._look_at_gpu()
        stolen, wanted = self._since(self.jiffies, jiffies(self.machine))
        exhausted, periods = self._since(self.quota_periods, quota_periods(self.machine))
        throttled = throttles(self.machine) - self.throttles
        sentences = [
            _share_warning(stolen, wanted, LEAST_JIFFIES, STOLEN),
            _share_warning(exhausted, periods, LEAST_PERIODS, EXHAUSTED),
            THROTTLED.format(throttled) if throttled > 0 else None,
            _clock_warning("processor's", self.clocks, CLOCK, FIX),
            *([self.gpu] if isinstance(self.gpu, str) else clock_warnings(self.gpu_readings)),
        ]
        return [sentence for sentence in sentences if sentence]

    def _since(self, before: tuple[int, int] | None, now: tuple[int, int] | None) -> tuple[int, int]:
        """The increase of two counters; zeros if they cannot be read."""
        return (now[0] - before[0], now[1] - before[1]) if before and now else (0, 0)


def own_seconds() -> float:
    """Processor time of this process and its descendants, with that of children that have ended."""
    ticks = 0
    for pid in with_descendants(os.getpid()):
        # utime, stime, cutime and cstime are the 14th to the 17th field (proc_pid_stat(5)).
        fields = kernel_text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def jiffies(machine: MachineCounters) -> tuple[int, int] | None:
    """(stolen, wanted) time of the usable cores since boot; wanted is all time but idle time.

    Wanted time includes stolen time. Idle time cannot be stolen, and would dilute the share of a busy core.
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
    """(exhausted, all) periods of the CPU quotas of this process's control groups since their creation."""
    counts: Counter[str] = Counter()
    for folder in machine.groups:
        for line in kernel_text(folder / "cpu.stat").splitlines():
            name, _, value = line.partition(" ")
            counts[name] += int(value) if value.isdigit() else 0
    return counts["nr_throttled"], counts["nr_periods"]


def throttles(machine: MachineCounters) -> int:
    """The number of times that usable cores have throttled for heat since boot, if they count it."""
    counters = (machine.cpus / f"cpu{core}/thermal_throttle/core_throttle_count" for core in machine.cores)
    return sum(filter(None, map(_number, counters)))


def _share_warning(part: int, whole: int, least: int, sentence: str) -> str | None:
    return sentence.format(100 * part / whole) if whole >= least and part > SHARE * whole else None


def _number(path: Path) -> int | None:
    text = kernel_text(path).strip()
    return int(text) if text.isdigit() else None
