"""Lower bounds by a device's documented rates, with known values."""

import pytest

from harness.core.record import Cost
from harness.report.tables.bounds_table import device_bound
from tests.report.charts.suites import record, static

K = 1024
BF16 = {"dtype": "bf16"}


def costing(name, seq, flops, bytes_, **more):
    figures = {target: static(2**20) for target in ("cuda:h100", "cuda:a100")}
    return record(
        name, seq, status="planned", workload=BF16, static=figures, cost=Cost(flops, bytes_, None), **more
    )


@pytest.mark.parametrize("target", ["host", "cuda:sm_90", "tpu:v5p:4x4x8"])
def test_only_a_single_device_has_a_bound(target):
    assert device_bound(costing("flash", K, 1.0, 1), target) is None


def test_a_mode_without_a_count_or_a_dtype_without_a_peak_has_no_bound():
    assert device_bound(costing("flash", K, 1.0, 1, mode="bwd"), "cuda:h100") is None
    assert device_bound(record("flash", K, cost=Cost(1.0, 1, None)), "cuda:h100") is None
    assert device_bound(costing("flash", K, None, None), "cuda:h100") is None


def test_a_family_that_counts_no_flops_is_bound_by_its_bytes():
    found = device_bound(record("topk", K, cost=Cost(None, 3_352_320_000_000, None)), "cuda:h100")
    assert found
    assert (found.bound_s, found.roof, found.ceilings) == (1.0, "DRAM", "data sheet of cuda:h100")
