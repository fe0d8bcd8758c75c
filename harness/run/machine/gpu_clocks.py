"""A GPU's clocks, temperature, power and what holds its clocks back, by NVML: asked between turns only."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from harness.core.record import GpuReading

IDLE = 0x1  # of nvmlClocksEventReasons (nvml.h): such a clock is low because nothing runs
# What holds a clock back that its user has not set so.
SLOWDOWNS = {0x4: "power cap", 0x8: "hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "power brake"}
STEADY = 0.97  # of the highest clock; NVIDIA's go in steps of 15 MHz, under one per cent


class GpuClocks:
    """The first visible GPU. Raises an error of NVML's where that does not know it."""

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        nvml.nvmlInit()
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"
        find = nvml.nvmlDeviceGetHandleByIndex if first.isdigit() else nvml.nvmlDeviceGetHandleByUUID
        self.gpu = find(int(first) if first.isdigit() else first)

    def read(self, round_: int) -> GpuReading:
        """What the GPU says now, before round `round_`; None for what its driver does not tell."""
        nvml, ask = self.nvml, self._ask
        milliwatts = ask(nvml.nvmlDeviceGetPowerUsage)
        return GpuReading(
            round=round_,
            sm_mhz=ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            memory_mhz=ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM),
            celsius=ask(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            watts=None if milliwatts is None else milliwatts / 1000,
            reasons=ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons),  # the name that all drivers know
        )

    def _ask(self, query: Callable[..., int], *arguments: int) -> int | None:
        try:
            return query(self.gpu, *arguments)
        except self.nvml.NVMLError:
            return None


def open_clocks() -> GpuClocks | str:
    """The clocks of the first visible GPU, or the sentence that says why they are not read."""
    try:
        import pynvml
    except ImportError:
        return "the GPU's clocks were not read while it was sampled; pip install nvidia-ml-py"
    try:
        return GpuClocks(pynvml)
    except pynvml.NVMLError as error:
        return f"the GPU's clocks were not read while it was sampled (NVML: {error}); see nvidia-smi"


def clock_warnings(readings: Sequence[GpuReading]) -> list[str]:
    """A sentence for each clock that moved while the GPU was busy, and one for what held it back."""
    busy = [reading for reading in readings if not (reading.reasons or 0) & IDLE]
    sentences = [
        _moved("SM", [reading.sm_mhz for reading in busy if reading.sm_mhz]),
        _moved("memory", [reading.memory_mhz for reading in busy if reading.memory_mhz]),
        _held_back(readings),
    ]
    return [sentence for sentence in sentences if sentence]


def slowdown_names(bits: int | None) -> list[str]:
    """The reasons of a bit mask that slow a GPU down, each once."""
    return list(dict.fromkeys(name for bit, name in SLOWDOWNS.items() if (bits or 0) & bit))


def _moved(which: str, clocks: Sequence[int]) -> str | None:
    if not clocks or min(clocks) >= STEADY * max(clocks):
        return None
    return (
        f"the GPU's {which} clock moved from {min(clocks)} to {max(clocks)} MHz while it was sampled; "
        "lock it with nvidia-smi --lock-gpu-clocks"
    )


def _held_back(readings: Sequence[GpuReading]) -> str | None:
    slowed = [names for reading in readings if (names := slowdown_names(reading.reasons))]
    if not slowed:
        return None
    causes = ", ".join(dict.fromkeys(name for names in slowed for name in names))
    return (
        f"the GPU held its clock back at {len(slowed)} of {len(readings)} looks between samples ({causes}); "
        "cool it, raise its power limit, or lock its clock with nvidia-smi --lock-gpu-clocks"
    )
