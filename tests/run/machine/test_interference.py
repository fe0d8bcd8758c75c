"""Interference with fake counters in a folder, and a fake NVML."""

import subprocess
import sys
from types import ModuleType

import pytest

from harness.core.record import GpuReading
from harness.report.format import gpu_state
from harness.run.group import sampling
from harness.run.machine import interference
from harness.run.machine.interference import (
    GpuClocks,
    Interference,
    MachineCounters,
    clock_warnings,
    open_clocks,
    own_seconds,
)
from tests.run.fakes import FakeExecutor, Heard
from tests.run.plans import context, group, measure, timing

UNREAD = "no NVML here"


def idle(steal=0, user=0):
    """The fields of a core: it was idle 90000 jiffies, waited 5000, and ran 1000."""
    return f"{700 + user} 100 150 90000 5000 20 30 {steal} 400 40"


class Bench:
    """A machine of folders. Cores 0 and 1 are usable, core 2 is not."""

    def __init__(self, root):
        self.root = root
        self.groups = root / "inner", root / "outer"
        self.machine = MachineCounters(root / "stat", root / "cpu", frozenset({0, 1}), self.groups)

    def stat(self, *cores):
        lines = [f"cpu{number} {fields}" for number, fields in enumerate(cores)]
        self.machine.stat.write_text("\n".join([f"cpu  {idle()}", *lines, "intr 4 0 0", "ctxt 9", ""]))

    def quota(self, used_up, periods):
        for folder in self.groups:
            folder.mkdir(exist_ok=True)
            text = f"nr_periods {periods}\nnr_throttled {used_up}\nthrottled_usec 12\nodd\n"
            (folder / "cpu.stat").write_text(text if folder == self.groups[0] else "")

    def cores(self, name, *values):
        for number, value in enumerate(values):
            path = self.machine.cpus / f"cpu{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{value}\n")

    def clocks(self, *khz):
        self.cores("cpufreq/scaling_cur_freq", *khz)

    def throttles(self, *counts):
        self.cores("thermal_throttle/core_throttle_count", *counts)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


STEAL = "the host took {} % of the processor's time during sampling (steal); measure on a quieter"
QUOTA = "a CPU quota was exhausted in {} % of its periods during sampling, which paused the processes;"
HEAT = "the processor throttled 3 times for heat during sampling; let it cool and measure again (ratios"
CLOCK = "the processor's clock varied from {} to {} MHz during sampling; fix it with sudo cpupower"


@pytest.mark.parametrize(
    ("counter", "looks", "warned"),
    [
        # 176 of 200 jiffies ran and 24 were stolen; what core 2 lost, and who was idle, do not matter
        (
            "stat",
            [(idle(), idle(3), idle()), (idle(4, user=76), idle(23, user=100), idle(900))],
            STEAL.format(12),
        ),
        ("stat", [(idle(),), (idle(10, user=190),)], ""),  # a twentieth
        ("stat", [(idle(),), (idle(11, user=189),)], STEAL.format(6)),
        ("stat", [(idle(),), (idle(19, user=80),)], ""),  # much of little
        ("stat", [("700 100 150 90000",), ("700 100 150 90000",)], ""),  # a kernel without a steal column
        ("quota", [(3, 50), (4, 70)], ""),
        ("quota", [(3, 50), (5, 70)], QUOTA.format(10)),
        ("quota", [(3, 50), (12, 59)], ""),
        ("throttles", [(5, 1, 0), (7, 2, 100)], HEAT),
        ("throttles", [(5, 1), (5, 1)], ""),
        ("throttles", [(5, 1), (0, 2)], ""),  # counters that start again
        (
            "clocks",
            [(3_400_000, 800_000, 9_000_000), (800_000, 3_100_000), (2_100_000, 800_000)],
            CLOCK.format(2100, 3400),
        ),
        ("clocks", [(3_400_000,), (3_060_000,)], ""),
        ("clocks", [(3_400_000,), (3_059_000,)], CLOCK.format(3059, 3400)),
    ],
)
def test_interference_is_a_warning(bench, counter, looks, warned):
    getattr(bench, counter)(*looks[0])
    watch = Interference("cuda", machine=bench.machine, open_gpu=lambda: UNREAD)
    for values in looks:
        getattr(bench, counter)(*values)
        watch.look()
    *found, unread = watch.warnings()
    assert unread == UNREAD
    assert [sentence[: len(warned)] for sentence in found] == [warned] * bool(warned)


def test_slow_clock_reads_stop(bench):
    """Every look takes 20 ms here: after three it has cost more than 5 ms a round and 50 ms once."""
    bench.clocks(3_400_000)
    ticks = iter(range(100))
    watch = Interference("cuda", lambda: next(ticks) * 2e-2, bench.machine, lambda: GpuClocks(Nvml()))
    for _ in range(6):
        watch.look()
    assert len(watch.clocks) == 4
    watch.warnings()
    assert [each.round for each in watch.gpu_readings] == [0, 1, 2, 3, 6], "and once at the end"


def test_other_load_excludes_the_own_process_tree(monkeypatch):
    own = iter((10.0, 10.5))
    monkeypatch.setattr(interference, "own_seconds", lambda: next(own))
    monkeypatch.setattr(interference.os, "sysconf", lambda _: 100)
    now = iter((0.0, 2.0))
    counted = iter(((0, 1000), (50, 1300)))  # three seconds wanted, of which half a second was stolen
    monkeypatch.setattr(interference, "jiffies", lambda _: next(counted))
    watch = Interference("cpu", lambda: next(now))
    assert watch.other_load() == 1.0  # 2.5 s less 0.5 s in 2 s


def test_own_time_includes_ended_children():
    before = own_seconds()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True)
    assert own_seconds() >= before + 0.25


class NVMLError(Exception):
    """As pynvml's: what a driver does not support, and what is not there."""


UUIDS = {0: "GPU-5fe0-whole", 1: "GPU-5fe1-whole"}


class Nvml(ModuleType):
    """pynvml's calls on one GPU; `sm` are its clocks, a look each, and `missing` what its driver lacks."""

    def __init__(self, *sm, missing=""):
        super().__init__("pynvml")
        self.sm, self.missing, self.found = list(sm) or [1980], missing, []
        vars(self).update(NVML_CLOCK_SM=1, NVML_CLOCK_MEM=2, NVML_TEMPERATURE_GPU=0, NVMLError=NVMLError)
        vars(self).update(
            nvmlInit=lambda: self.refuse("driver", "Driver Not Loaded"),
            nvmlDeviceGetHandleByIndex=self.find,
            nvmlDeviceGetHandleByUUID=self.find_whole,
            nvmlDeviceGetClockInfo=self.clock,
            nvmlDeviceGetTemperature=lambda gpu, sensor: {("gpu", 0): 41}[gpu, sensor],
            nvmlDeviceGetPowerUsage=lambda gpu: (
                self.refuse("power", "Not Supported") or {"gpu": 212_500}[gpu]
            ),
            nvmlDeviceGetCurrentClocksThrottleReasons=lambda gpu: {"gpu": 0}[gpu],
        )

    def refuse(self, what, why):
        if self.missing == what:
            raise NVMLError(why)

    def find(self, which):
        self.found.append(which)
        return "gpu"

    def find_whole(self, uuid):
        if uuid not in UUIDS.values():
            raise NVMLError("Not Found")
        return self.find(uuid)

    def clock(self, gpu, which):
        assert gpu == "gpu"
        if which == 2:
            return 2619
        return self.sm.pop(0) if len(self.sm) > 1 else self.sm[0]


@pytest.mark.parametrize(("visible", "found"), [("0", 0), ("2,3", 2), ("GPU-5fe1-whole,GPU-7", 1)])
def test_it_is_the_first_visible_gpu(monkeypatch, visible, found):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    nvml = Nvml()
    GpuClocks(nvml)
    assert nvml.found[-1] == (UUIDS[found] if visible.startswith("GPU") else found)


@pytest.mark.parametrize(
    ("visible", "nvml", "why"),
    [
        ("", Nvml(), "(NVML: Not Found); see nvidia-smi"),
        ("GPU-none", Nvml(), "(NVML: Not Found); see nvidia-smi"),
        ("0", Nvml(missing="driver"), "(NVML: Driver Not Loaded); see nvidia-smi"),
        ("0", None, "sampling; pip install nvidia-ml-py"),
    ],
)
def test_unreadable_clocks_are_one_sentence(monkeypatch, visible, nvml, why):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert str(open_clocks()).startswith("the GPU's clocks were not read during sampling")
    assert str(open_clocks()).endswith(why)


def reading(sm, reasons=0, memory=2619):
    return GpuReading(0, sm, memory, 41, 212.5, reasons)


@pytest.mark.parametrize(
    ("readings", "begins"),
    [
        (
            [reading(1980), reading(1905), reading(1980)],
            "the GPU's SM clock varied from 1905 to 1980 MHz during",
        ),
        ([reading(1980), reading(1935), reading(None)], ""),  # a step
        ([reading(345, reasons=0x1), reading(1980)], ""),  # idle before
        ([reading(1980), reading(1980, memory=1593)], "the GPU's memory clock varied from 1593 to 2619 MHz"),
        (
            [reading(1980), reading(1980, 0x24), reading(1980, 0x84)],
            "the GPU reduced its clock at 2 of 3 readings between samples (power cap, heat, power brake);",
        ),
        ([reading(1980, 0x10), reading(1980, None)], ""),  # set by hand
        ([], ""),
    ],
)
def test_gpu_clock_changes_are_warnings(readings, begins):
    assert [sentence[: len(begins)] for sentence in clock_warnings(readings)] == [begins] * bool(begins)


class AskedBetweenTurns(Nvml):
    """Fails if it is called while a worker has its turn."""

    def __init__(self, heard, *sm):
        super().__init__(*sm)
        self.heard = heard

    def clock(self, gpu, which):
        assert not self.heard.paused, "a clock is being read"
        return super().clock(gpu, which)


def test_every_timing_has_the_gpu_readings_of_its_rounds(tmp_path, monkeypatch):
    heard = Heard()
    nvml = AskedBetweenTurns(heard, 1980, 1980, 1755)

    def watch(_, now):
        return Interference("cuda", now, MachineCounters(tmp_path, tmp_path), lambda: GpuClocks(nvml))

    monkeypatch.setattr(sampling, "Interference", watch)
    folder = tmp_path / "scratch"
    folder.mkdir()
    executor = FakeExecutor()
    record = measure(executor, folder, group(["scatter"]), shared=context(executor, folder, listener=heard))
    took = timing(record["scatter"])
    rounds = sorted(set(took.round))
    assert [each.round for each in took.gpu] == [*rounds, len(rounds)], (
        "before each round, and after the last"
    )
    assert any("varied from 1755 to 1980 MHz" in warning for warning in took.warnings)


def test_gpu_readings_are_summarised_in_one_line():
    readings = [reading(1755), reading(1980), reading(None)]
    assert gpu_state(readings) == (
        "GPU during sampling: SM 1755 to 1980 MHz, memory 2619 MHz, 41 °C, 212 W, 3 readings"
    )
    assert gpu_state([]) == gpu_state([GpuReading(0, None, None, None, None, None)]) == ""
