"""Ceilings from known rates, and shares of them from known times."""

from dataclasses import replace

import pytest

from harness.analysis.roofline import UNMEASURED, Work, case_share, roof_share, roofline_of, stage_share
from harness.analysis.stats import Estimate
from harness.core.record import Correctness, Cost, StageFigures
from harness.report import format as fmt
from tests.records import kernel_of, record_of, static_of, timing_of
from tests.rooflines import CACHES, KI, MI, machine


def test_a_ceiling_is_the_fastest_kernels_fastest_round_with_its_median():
    ceiling = machine().levels["L2"]
    assert (ceiling.kernel, ceiling.size) == ("sum", 512 * KI)
    assert ceiling.rate == 8e10
    assert tuple(ceiling.median)[:4] == (7.2e10, 6.4e10, 8e10, 6)


@pytest.mark.parametrize(
    ("size", "name", "rate"),
    [(KI, "L1", 8e10), (MI, "L2", 8e10), (3 * MI, "DRAM", 3e10), (1 << 40, "DRAM", 1e10)],
)
def test_between_two_sizes_the_smaller_ones_rate_is_the_ceiling(size, name, rate):
    roof = machine().memory_roof(size)
    assert (roof.name, roof.rate) == (name, rate)


@pytest.mark.parametrize(("dtype", "name"), [("f64", "f64"), ("f32", "f32"), ("bf16", "f32"), ("i8", "f32")])
def test_operands_may_be_computed_in_a_wider_dtype(dtype, name):
    assert machine(f64=5e10, f32=1e11, bf16=1e9).compute_roof(dtype).name == name


@pytest.mark.parametrize("damage", [{"readings": []}, {"caches": {"L1": "much"}}])
def test_invalid_rooflines_are_refused(damage):
    plain = {"caches": CACHES, "readings": [vars(r) for r in machine().readings]}
    assert roofline_of({**plain, "load": 0.5}).levels == machine().levels
    with pytest.raises(ValueError):
        roofline_of({**plain, **damage})


SECOND = Estimate(1.0, 0.95, 1.05, 6, "rounds")


def share(flops, moved, working_set=1 << 30, time=SECOND, dtype="f32"):
    return roof_share(machine(), Work(dtype, flops, moved, working_set), time)


@pytest.mark.parametrize(
    ("flops", "moved", "working_set", "roof", "value"),
    [
        (5e10, None, 0, "compute", 0.5),
        (5e10, 2e9, 1 << 30, "compute", 0.5),
        (1e10, 2e9, 1 << 30, "DRAM", 0.2),
        (None, 2e9, 1 << 30, "DRAM", 0.2),
        (5e10, 8e9, 1 << 30, "DRAM", 0.8),
        (5e10, 8e9, 512 * KI, "compute", 0.5),  # the same bytes from a cache
        (None, 8e9, 512 * KI, "L2", 0.1),
    ],
)
def test_the_limiting_roof_is_the_lower_one_at_this_intensity(flops, moved, working_set, roof, value):
    found = share(flops, moved, working_set)
    assert (found.roof, found.share.value) == (roof, pytest.approx(value))
    assert (found.bound_s, found.note + found.reason) == (found.share.value, "")


def test_the_interval_of_a_share_is_that_of_the_time_as_the_roof_is_a_maximum():
    assert fmt.roof(share(5e10, None)) == "50 % of compute"
    low, high = share(5e10, None).share[1:3]
    assert low == pytest.approx(5e10 / (1.05 * 1e11))
    assert high == pytest.approx(5e10 / (0.95 * 1e11))


def test_a_share_certainly_above_the_compute_roof_says_why():
    found = share(2e11, 1e9)
    assert fmt.roof(found) == "200 % of compute"
    assert found.note.startswith("faster than matrix products of f32: more work is counted than done")
    doubtful = share(1.02e11, None)
    assert (fmt.roof(doubtful), doubtful.note) == ("102 % of compute", "")
    assert not share(2e11, None, time=Estimate(1.0)).note, "a time without an interval excludes nothing"


def test_a_share_above_a_memory_roof_has_a_note():
    found = share(1e9, 3e10)
    assert fmt.roof(found) == "300 % of DRAM"
    assert found.note.startswith("above the bandwidth of DRAM: its bytes are in a cache or are counted")


def test_a_case_uses_its_familys_formula_and_a_stage_its_operators():
    record = record_of("dense", 4 * KI, family="attention", fingerprint="here", cost=Cost(5e10, 1e9))
    known = {"here": machine()}
    assert case_share(record, SECOND, known).roof == "compute"
    figures = StageFigures("select", (1.0,), 64, 3, None, 32 * MI)  # half a MiB at a time
    assert stage_share(record, figures, SECOND, known).roof == "L2"


H100 = {"here": {"device": "cuda", "gpu": {"name": "NVIDIA H100 80GB HBM3"}}}
IDLE = {"grid": (64, 1), "waves": 0.0693}  # blocks for 64 of 132 multiprocessors
SLOW = (1e-3, 9e-4, 9e-4, 1e-3, 1e-3, 1e-3)


def on_h100(flops, moved, known=None, plan=(), seconds=1e-3, latency=1e-3, **more):
    """The share of a call in bf16 on an H100 with the rates of its data sheet: 989 TFLOP/s, 3.35 TB/s."""
    timing = replace(timing_of(SLOW, method="cuda_events"), latency_s=latency, latency_low_s=latency)
    figures = replace(static_of(temp_bytes=1), kernels=tuple(kernel_of(**kernel) for kernel in plan))
    record = record_of(
        "flash", 4 * KI, device="cuda", fingerprint="here", cost=Cost(flops, moved), timing=timing,
        correctness=Correctness("exact", True, "whole"), static={"cuda:h100": figures},
        **{"workload": {"dtype": "bf16"}, **more},
    )  # fmt: skip
    return case_share(record, SECOND.map(lambda each: each * seconds), known or {}, H100)


@pytest.mark.parametrize(
    ("flops", "moved", "word", "bound_s"),
    [(989e9, 1.0, "compute", 1e-3), (1.0, 3_352_320_000, "memory", 1e-3), (None, 3_352_320, "memory", 1e-6)],
)
def test_without_measured_ceilings_a_gpu_has_those_of_its_data_sheet(flops, moved, word, bound_s):
    found = on_h100(flops, moved)
    assert (found.word, found.ceilings) == (word, "data sheet of cuda:h100")
    assert (found.bound_s, found.share.value) == pytest.approx((bound_s, bound_s / 1e-3))
    assert found.share.high == pytest.approx(found.share.value / 0.95)


def test_measured_ceilings_come_first_and_a_gpus_bytes_are_in_no_cache():
    found = on_h100(None, 1e6, {"here": machine()})  # fits the machine's L2, whose rate is 8e10
    assert (found.word, found.bound_s, found.ceilings) == ("memory", 1e-4, "measured")


def test_a_share_above_1_is_shown_with_its_cause():
    assert fmt.roof(on_h100(9.89e12, None)).startswith("1000")
    assert "more work is counted than done" in on_h100(9.89e12, None).note
    assert "its bytes are in a cache" in on_h100(None, 3e10).note


@pytest.mark.parametrize(
    ("changed", "word", "why"),
    [
        ({"plan": [IDLE]}, "latency", "attn uses only 64 of 132 multiprocessors"),
        ({"plan": [IDLE, {"kernel": "full"}]}, "compute", "attn uses only 64 of 132"),
        ({"plan": [{"instructions": {"mma": 96}}]}, "compute", "attn uses no warp-group matrix instructions"),
        ({"plan": [IDLE], "seconds": 1.9e-5}, "compute", ""),  # more than half of the bound is reached
        ({"kernels_run": (("a", 2), ("b", 1)), "latency": 2e-3}, "latency", "launches its 3 kernels"),
        ({"kernels_run": (("a", 1),), "latency": 2e-3}, "compute", ""),  # there is no gap between kernels
        ({}, "compute", ""),
    ],
)
def test_latency_is_the_word_only_where_plan_or_launches_explain_it(changed, word, why):
    found = on_h100(989e7, None, **changed)  # 10 µs at the ceiling
    assert (found.word, found.roof) == (word, "compute")
    assert why in found.why
    assert bool(why) == bool(found.why)


@pytest.mark.parametrize(
    ("changed", "time", "reason"),
    [
        ({"fingerprint": "elsewhere"}, SECOND, UNMEASURED),
        ({"mode": "bwd"}, SECOND, "the family's formula covers only fwd"),
        ({"cost": Cost()}, SECOND, "its FLOPs and bytes are unknown"),
        ({"fingerprint": "h100", "device": "cuda"}, SECOND, "no peak of cuda:h100 is documented for f32"),
        ({}, Estimate(None, reason="not timed"), "not timed"),
    ],
)
def test_a_missing_share_has_a_reason(changed, time, reason):
    values = {"fingerprint": "here", "cost": Cost(5e10, 1e9), **changed}
    found = case_share(
        record_of("dense", 4 * KI, **values), time, {"here": machine()}, {"h100": H100["here"]}
    )
    assert (found.reason, fmt.roof(found)) == (reason, "–")
