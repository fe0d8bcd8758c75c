"""Occupancy against CUDA's own calculator, row by row."""

from pathlib import Path

import pytest

from harness.catalog.accelerators import CAPABILITIES, accelerators
from harness.cubin.occupancy import occupancy, waves

ROWS = [
    line.split()
    for line in (Path(__file__).parents[1] / "data" / "cubin" / "occupancy.txt").read_text().splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize("capability", sorted({row[0] for row in ROWS}))
def test_blocks_and_their_limit_are_those_of_cudas_calculator(capability):
    rows = [row[1:] for row in ROWS if row[0] == capability]
    assert len(rows) >= 20
    for *numbers, limits in rows:
        warps, registers, shared_bytes, blocks = map(int, numbers)
        held = occupancy(capability, warps, registers, shared_bytes)
        assert held.blocks == blocks
        assert held.share == blocks * warps / CAPABILITIES[capability].warps <= 1
        assert held.limiter.replace(" ", "-") in limits.split(",")


def test_a_block_that_needs_more_than_one_may_have_fits_nowhere():
    assert occupancy("9.0", 4, 32, 227 * 1024).blocks == 1
    assert occupancy("9.0", 4, 32, 227 * 1024 + 1) == (0, "shared memory", 0)


def test_every_gpu_with_a_data_file_has_limits():
    gpus = [device for device in accelerators().values() if device.kind == "cuda"]
    assert len(gpus) >= 4
    for device in gpus:
        sm = CAPABILITIES[device.gpu["compute_capability"]]
        assert sm.warps * 32 == device.gpu["threads_per_core_limit"]
        assert sm.shared_bytes == device.gpu["shared_memory_per_core"]
        assert sm.shared_block_bytes == device.gpu["shared_memory_per_block_optin"]


@pytest.mark.parametrize(
    ("grid", "blocks", "filled", "tail"),
    [((132, 2), 2, 1.0, 0.0), ((133,), 1, 133 / 132, 131 / 132), ((33,), 1, 0.25, 0.75)],
)
def test_waves_and_what_the_last_one_leaves_idle(grid, blocks, filled, tail):
    assert waves(grid, blocks, 132) == pytest.approx((filled, tail))
