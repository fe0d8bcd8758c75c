"""What a fingerprint says of a GPU's memory."""

import pytest

from harness.run.machine.device_memory import CONTEXT_BYTES, DeviceMemory

H100 = {
    "gpu": {"name": "NVIDIA H100 80GB HBM3", "memory.total": "81559 MiB"},
    "caches": {"GPU L2": {"bytes": 52428800}},
}
UNKNOWN = {"gpu": {"unavailable": "no nvidia-smi"}, "caches": {"GPU L2": {"unavailable": "no driver"}}}


def test_a_group_has_the_memory_of_its_gpu_and_not_that_of_the_host():
    memory = DeviceMemory.of("cuda", H100)
    assert memory.limit(101_361_423_360) == 81559 << 20
    assert memory.limit(1 << 30) == 1 << 30, "--memory is less"
    assert memory.process_bytes == CONTEXT_BYTES + 2 * 52428800


@pytest.mark.parametrize("size", ["", "[N/A]", "[Not Supported]"])
def test_a_size_that_the_driver_does_not_give_is_no_limit(size):
    facts = {**UNKNOWN, "gpu": {"memory.total": size}} if size else UNKNOWN
    memory = DeviceMemory.of("cuda", facts)
    assert (memory.limit(7), memory.process_bytes) == (7, CONTEXT_BYTES)


@pytest.mark.parametrize("device", ["cpu", "tpu"])
def test_elsewhere_memory_is_the_setting_alone(device):
    assert DeviceMemory.of(device, {}) == DeviceMemory()
