"""A GPU's clocks by an NVML that is made up: which it is, what it says, and when it is asked."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.core.record import GpuReading
from harness.report.format import gpu_state
from harness.run.group import sampling
from harness.run.machine.gpu_clocks import GpuClocks, clock_warnings, open_clocks
from harness.run.machine.interference import Interference, MachineCounters
from tests.run.fakes import FakeExecutor, Heard
from tests.run.plans import context, group, measure, timing


class NVMLError(Exception):
    """As pynvml's: what a driver does not support, and what is not there."""


UUIDS = {0: "GPU-5fe0-whole", 1: "GPU-5fe1-whole"}


class Nvml(ModuleType):
    """pynvml's calls on one GPU; `sm` are its clocks, a look each, and `missing` what its driver lacks."""

    def __init__(self, *sm: int, reasons: int = 0, missing: str = "") -> None:
        super().__init__("pynvml")
        self.sm, self.reasons, self.missing = list(sm) or [1980], reasons, missing
        self.found: list[object] = []
        vars(self).update(NVML_CLOCK_SM=1, NVML_CLOCK_MEM=2, NVML_TEMPERATURE_GPU=0, NVMLError=NVMLError)
        vars(self).update(
            nvmlInit=self.begin,
            nvmlDeviceGetHandleByIndex=self.find,
            nvmlDeviceGetHandleByUUID=self.find_whole,
            nvmlDeviceGetCount=lambda: 2,
            nvmlDeviceGetUUID=lambda _: UUIDS[self.found[-1]],
            nvmlDeviceGetClockInfo=self.clock,
            nvmlDeviceGetTemperature=lambda gpu, sensor: {("gpu", 0): 41}[gpu, sensor],
            nvmlDeviceGetPowerUsage=self.power,
            nvmlDeviceGetCurrentClocksThrottleReasons=lambda gpu: {"gpu": self.reasons}[gpu],
        )

    def begin(self) -> None:
        if self.missing == "driver":
            raise NVMLError("Driver Not Loaded")

    def find(self, which: object) -> str:
        self.found.append(which)
        return "gpu"

    def find_whole(self, uuid: str) -> str:
        if uuid not in UUIDS.values():
            raise NVMLError("Not Found")
        return self.find(uuid)

    def clock(self, gpu: str, which: int) -> int:
        assert gpu == "gpu"
        if which == 2:
            return 2619
        return self.sm.pop(0) if len(self.sm) > 1 else self.sm[0]

    def power(self, gpu: str) -> int:
        if self.missing == "power":
            raise NVMLError("Not Supported")
        return {"gpu": 212_500}[gpu]


def reading(sm: int | None, reasons: int | None = 0, round_: int = 0, memory: int = 2619) -> GpuReading:
    return GpuReading(round_, sm, memory, 41, 212.5, reasons)


def test_what_a_driver_does_not_tell_is_unknown() -> None:
    assert GpuClocks(Nvml(missing="power")).read(0).watts is None


@pytest.mark.parametrize(("visible", "found"), [("0", 0), ("2,3", 2), ("GPU-5fe0", 0), ("GPU-5fe1,GPU-7", 1)])
def test_it_is_the_first_visible_gpu(monkeypatch: pytest.MonkeyPatch, visible: str, found: int) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    nvml = Nvml()
    GpuClocks(nvml)
    assert nvml.found[-1] == (UUIDS[found] if visible.startswith("GPU") else found)


@pytest.mark.parametrize("visible", ["", "GPU-none", "-1"])
def test_a_gpu_that_cuda_does_not_see_has_no_clocks(monkeypatch: pytest.MonkeyPatch, visible: str) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setitem(sys.modules, "pynvml", Nvml())
    assert "(NVML: Not Found)" in str(open_clocks())


def test_without_nvml_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", Nvml(missing="driver"))
    assert open_clocks() == (
        "the GPU's clocks were not read while it was sampled (NVML: Driver Not Loaded); see nvidia-smi"
    )
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert open_clocks() == ("the GPU's clocks were not read while it was sampled; pip install nvidia-ml-py")


MOVED = "the GPU's SM clock moved from 1905 to 1980 MHz while it was sampled"


@pytest.mark.parametrize(
    ("readings", "begins"),
    [
        ([reading(1980), reading(1905), reading(1980)], [MOVED]),
        ([reading(1980), reading(1935), reading(None)], []),
        ([reading(345, reasons=0x1), reading(1980)], []),
        ([reading(1980), reading(1980, memory=1593)], ["the GPU's memory clock moved from 1593 to 2619 MHz"]),
        ([reading(1980), reading(1980, 0x4), reading(1980, 0x44)], ["the GPU held its clock back at 2 of 3"]),
        ([reading(1980, 0x10), reading(1980, None)], []),
        ([], []),
    ],
    ids=["dropped", "a step", "idle before", "memory", "throttled", "set by hand", "no look"],
)
def test_what_may_have_moved_a_time_is_a_warning(readings: list[GpuReading], begins: list[str]) -> None:
    warnings = clock_warnings(readings)
    assert len(warnings) == len(begins)
    for warning, start in zip(warnings, begins, strict=True):
        assert warning.startswith(start)


def test_what_held_it_back_is_named_once() -> None:
    (warning,) = clock_warnings([reading(1980, 0x24), reading(1980, 0x84)])
    assert "(power cap, heat, power brake)" in warning


def test_looks_that_prove_slow_become_rare_and_the_last_one_is_taken() -> None:
    now = iter(range(1000))
    watch = Interference("cuda", lambda: float(next(now)), open_gpu=lambda: GpuClocks(Nvml()))
    for _ in range(5):
        watch.look()
    watch.warnings()
    assert [each.round for each in watch.gpu_readings] == [0, 5]


def test_a_cpu_has_no_gpu_to_ask() -> None:
    def fail() -> GpuClocks:
        raise AssertionError("asked")

    watch = Interference("cpu", open_gpu=fail)
    watch.look()
    assert watch.gpu is None


class AskedBetweenTurns(Nvml):
    """Objects to being asked while a worker has its turn."""

    def __init__(self, heard: Heard, *sm: int) -> None:
        super().__init__(*sm)
        self.heard = heard

    def clock(self, gpu: str, which: int) -> int:
        assert not self.heard.paused, "a clock is being read"
        return super().clock(gpu, which)


def test_every_time_keeps_the_readings_of_its_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    nvml = AskedBetweenTurns(heard, 1980, 1980, 1755)

    def watch(_: str, now: Any) -> Interference:
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
    assert any("moved from 1755 to 1980 MHz" in warning for warning in took.warnings)


def test_what_was_read_in_one_line() -> None:
    readings = [reading(1755), reading(1980), reading(None)]
    assert gpu_state(readings) == (
        "GPU while it was sampled: SM 1755 to 1980 MHz, memory 2619 MHz, 41 °C, 212 W, 3 looks"
    )
    assert gpu_state([]) == gpu_state([GpuReading(0, None, None, None, None, None)]) == ""
