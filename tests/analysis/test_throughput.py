"""Throughput: its work, its time and its peak."""

from dataclasses import replace

import pytest

from harness.analysis.suite_results import SuiteResults
from harness.core.record import Cost

TIMES = [0.09, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.11]
COST = Cost(flops=1e9, bytes=2e9, dense_flops=4e9)


def throughput_of(record, suite, facts=None, **more):
    """The throughput of one case of 0.1 s per call, by kind of work."""
    only = record("base", 4096, more.pop("samples", TIMES), fingerprint="f", **{"cost": COST, **more})
    machines = {"f": facts} if facts else {}
    return SuiteResults.of(replace(suite([only]), fingerprints=machines)).cases[0].throughput


def gpu(name):
    return {"device": "cuda", "cpu": "AMD EPYC", "gpu": {"name": name}}


def test_a_rate_is_the_count_over_the_time_with_swapped_bounds(record, suite):
    rates = throughput_of(record, suite)
    per_second = {work: rate.rate.value for work, rate in rates.items()}
    assert per_second == pytest.approx({"flops": 1e10, "dense_flops": 4e10, "bytes": 2e10})
    assert rates["bytes"].rate[1:3] == pytest.approx((2e9 / 0.11, 2e9 / 0.09))


def test_the_share_is_of_the_dtypes_documented_peak(record, suite):
    """An H100 does 989e12 FLOP/s in bf16 and moves 3352.32e9 B/s."""
    facts = gpu("NVIDIA H100 80GB HBM3")
    rates = throughput_of(record, suite, facts, device="cuda", workload={"dtype": "bf16"})
    assert rates["flops"].share.value == pytest.approx(1e10 / 989e12)
    share = [count / 3352.32e9 for count in (2e10, 2e9 / 0.11, 2e9 / 0.09)]
    assert rates["bytes"].share[:3] == pytest.approx(share)
    assert rates["dense_flops"].share.value is None


@pytest.mark.parametrize(
    ("facts", "more", "why"),
    [
        ({"device": "cpu", "cpu": "AMD EPYC"}, {}, "no peak is documented for AMD EPYC"),
        (None, {}, "no peak is documented for this processor"),
        (gpu("NVIDIA H100 PCIe"), {"device": "cuda"}, "no peak is documented for NVIDIA H100 PCIe"),
        (gpu("NVIDIA H100 80GB HBM3"), {"device": "cuda"}, "no peak of cuda:h100 is documented for f32"),
        ({"device": "tpu", "cpu": "AMD EPYC"}, {"device": "tpu"}, "no peak is documented for this tpu"),
    ],
)
def test_a_peak_that_is_not_documented_is_not_invented(record, suite, facts, more, why):
    rate = throughput_of(record, suite, facts, **more)["flops"]
    assert (rate.peak, rate.share.value, rate.no_peak) == (None, None, why)
    assert rate.rate.value is not None
