"""A GPU's clocks, temperature, power and throttle reasons, by NVML; read between turns only."""

from collections.abc import Callable, Sequence
from typing import Any

from harness.core.machine import first_visible_gpu
from harness.core.record import GpuReading

IDLE = 0x1  # of nvmlClocksEventReasons (nvml.h): such a clock is low because nothing runs
# Reasons of nvmlClocksEventReasons that are not settings of the user.
SLOWDOWNS = {0x4: "power cap", 0x8: "hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "power brake"}
STEADY = 0.97  # of the highest clock; NVIDIA's steps of 15 MHz are below one per cent


class GpuClocks:
    """The clocks of the first visible GPU. Raises NVMLError where NVML does not know it."""

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        nvml.nvmlInit()
        self.gpu = self._find(first_visible_gpu() or "")

    def _find(self, name: str) -> Any:
        """The handle of a GPU by its index, or by its UUID or the beginning of it."""
        nvml = self.nvml
        if name.isdigit():
            return nvml.nvmlDeviceGetHandleByIndex(int(name))
        handles = map(nvml.nvmlDeviceGetHandleByIndex, range(nvml.nvmlDeviceGetCount()))
        uuids = (nvml.nvmlDeviceGetUUID(handle) for handle in handles)
        whole = next((uuid for uuid in uuids if name and uuid.startswith(name)), name)
        return nvml.nvmlDeviceGetHandleByUUID(whole)

    def read(self, round_: int) -> GpuReading:
        """The present readings, before round `round_`; None for those that the driver does not support."""
        nvml, ask = self.nvml, self._ask
        milliwatts = ask(nvml.nvmlDeviceGetPowerUsage)
        return GpuReading(
            round=round_,
            sm_mhz=ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            memory_mhz=ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM),
            celsius=ask(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            watts=None if milliwatts is None else milliwatts / 1000,
            reasons=ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons),  # all drivers know this name
        )

    def _ask(self, query: Callable[..., int], *arguments: int) -> int | None:
        try:
            return query(self.gpu, *arguments)
        except self.nvml.NVMLError:
            return None


def open_clocks() -> GpuClocks | str:
    """The clocks of the first visible GPU, or a sentence why they cannot be read."""
    try:
        import pynvml
    except ImportError:
        return "the GPU's clocks were not read while it was sampled; pip install nvidia-ml-py"
    try:
        return GpuClocks(pynvml)
    except pynvml.NVMLError as error:
        return f"the GPU's clocks were not read while it was sampled (NVML: {error}); see nvidia-smi"


def clock_warnings(readings: Sequence[GpuReading]) -> list[str]:
    """A sentence for each clock that moved while the GPU was busy, and one for throttling."""
    busy = [reading for reading in readings if not (reading.reasons or 0) & IDLE]
    sentences = [
        _clock_warning("SM", [reading.sm_mhz for reading in busy if reading.sm_mhz]),
        _clock_warning("memory", [reading.memory_mhz for reading in busy if reading.memory_mhz]),
        _slowdown_warning(readings),
    ]
    return [sentence for sentence in sentences if sentence]


def slowdown_names(bits: int | None) -> list[str]:
    """The reasons of a bit mask that slow a GPU down, each once."""
    return list(dict.fromkeys(name for bit, name in SLOWDOWNS.items() if (bits or 0) & bit))


def _clock_warning(which: str, clocks: Sequence[int]) -> str | None:
    if not clocks or min(clocks) >= STEADY * max(clocks):
        return None
    return (
        f"the GPU's {which} clock moved from {min(clocks)} to {max(clocks)} MHz while it was sampled; "
        "lock it with nvidia-smi --lock-gpu-clocks"
    )


def _slowdown_warning(readings: Sequence[GpuReading]) -> str | None:
    slowed = [names for reading in readings if (names := slowdown_names(reading.reasons))]
    if not slowed:
        return None
    causes = ", ".join(dict.fromkeys(name for names in slowed for name in names))
    return (
        f"the GPU held its clock back at {len(slowed)} of {len(readings)} looks between samples ({causes}); "
        "cool it, raise its power limit, or lock its clock with nvidia-smi --lock-gpu-clocks"
    )
