"""The memory of a GPU from its fingerprint."""

import pytest

from harness.run.machine.device_memory import PROCESS_BYTES, DeviceMemory

UNKNOWN = {"gpu": {"unavailable": "no nvidia-smi"}}


@pytest.mark.parametrize("size", ["", "[N/A]", "[Not Supported]"])
def test_a_size_that_the_driver_does_not_give_is_no_limit(size):
    facts = {**UNKNOWN, "gpu": {"memory.total": size}} if size else UNKNOWN
    memory = DeviceMemory.of("cuda", facts)
    assert (memory.limit(7), memory.process_bytes) == (7, PROCESS_BYTES)


@pytest.mark.parametrize("device", ["cpu", "tpu"])
def test_host_memory_limit_is_only_the_setting(device):
    assert DeviceMemory.of(device, {}) == DeviceMemory()
