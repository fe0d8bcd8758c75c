import pytest

from harness.analysis.compare import comparisons
from harness.core.record import Correctness
from tests.records import timing_of

ROUNDS = [1.0, 1.5, 0.7, 2.0, 1.1, 0.9, 3.0]


def compare_to(suite, *records, baseline="mask/base"):
    (only,) = comparisons(suite(records, baseline))
    return only


def test_above_one_is_faster_than_the_baseline(record, suite):
    found = compare_to(suite, record("base", 4096, [3 * r for r in ROUNDS]), record("x", 4096, ROUNDS))
    assert (found.speedup, found.low, found.high) == pytest.approx((3.0, 3.0, 3.0))
    assert (found.suite, found.baseline, found.implementation) == ("s", "mask/base", "mask/x")
    assert found.case == "mask/x@batch=1,dtype=f32,seq=4096:fwd:cpu"
    assert (found.unit, found.samples, found.reason) == ("rounds", 7, None)


EVENTS, CUPTI, GRAPH = (timing_of(ROUNDS, method=name) for name in ("cuda_events", "cupti", "cuda_graph"))
WRONG = {"status": "incorrect", "correctness": Correctness("exact", False, "whole")}
OUTCOMES = ("oom", "timeout", "crashed", "skipped", "unsupported")


@pytest.mark.parametrize(
    ("base", "own", "reason"),
    [
        *(({"status": status}, {}, f"n/a (baseline {status})") for status in OUTCOMES),
        *(({}, {"status": status}, f"n/a ({status})") for status in OUTCOMES),
        ({}, WRONG, "n/a (incorrect)"),
        ({"seq": 8192}, {}, "n/a (no baseline at this workload)"),
        ({}, {"timing": EVENTS}, "n/a (timed by cuda_events, the baseline by wall)"),
        ({"timing": EVENTS}, {"timing": GRAPH}, "n/a (timed by cuda_graph, the baseline by cuda_events)"),
        ({"timing": EVENTS}, {"timing": CUPTI}, None),
        ({"run": "r0"}, {}, "n/a (baseline in another run)"),
        ({"timing": None}, {"timing": None}, "n/a (not timed)"),
        (None, {}, "n/a (no baseline)"),
    ],
)
def test_a_missing_speedup_has_a_reason(record, suite, base, own, reason):
    def side(name, more):
        more = {"seq": 4096, "timing": None if "status" in more else timing_of(ROUNDS), **more}
        return record(name, **{key: value for key, value in more.items() if value is not None})

    sides = [side("x", own)] if base is None else [side("base", base), side("x", own)]
    found = compare_to(suite, *sides, baseline="" if base is None else "mask/base")
    assert (found.speedup is None, found.reason) == (reason is not None, reason)


def test_a_certain_difference_is_not_called_noise(record, suite, static):
    same = {"host": static(program="sha256:0123456789abcdef")}
    halves = [seconds / 2 for seconds in ROUNDS]
    both = record("base", 4096, ROUNDS, static=same), record("x", 4096, halves, static=same)
    found = compare_to(suite, *both)
    assert found.low > 1
    apart = "the interval still excludes 1, for a reason outside the program"
    assert found.notes == (f"same program as the baseline (fwd hash 01234567): {apart}",)


def test_equal_operators_of_eager_calls_may_differ_in_host_overhead(record, suite, static):
    same = {"static": {"host": static(program="sha256:0123456789abcdef")}, "framework": "torch"}
    found = compare_to(suite, record("base", 4096, ROUNDS, **same), record("x", 4096, ROUNDS, **same))
    (note,) = found.notes
    assert note.startswith("same operators as the baseline (fwd hash 01234567): only host overhead between")


def test_static_ratios_are_case_over_baseline_and_need_no_timing(record, suite, static):
    base = record("base", 4096, static={"host": static(temp_bytes=1000, flops=10.0, bytes_accessed=400.0)})
    oom = static(temp_bytes=250, flops=20.0, bytes_accessed=100.0)
    found = compare_to(suite, base, record("x", 4096, status="oom", static={"host": oom}))
    assert (found.temp_ratio, found.flops_ratio, found.bytes_ratio) == (0.25, 2.0, 0.25)
    assert found.unavailable == {}


def test_flops_counted_by_other_rules_are_not_divided(record, suite, static):
    base = record("base", 4096, static={"host": static(flops=10.0)})
    torch = record("x", 4096, static={"host": static(flops=10.0, flops_source="matmul_only")})
    found = compare_to(suite, base, torch)
    assert found.flops_ratio is None
    assert found.unavailable["flops"] == "counted differently: matmul_only (baseline: compiled)"


def test_a_missing_ratio_says_which_side_lacks_the_figure(record, suite, static):
    base = record("base", 4096, static={"host": static(flops=10.0, temp_bytes=0)})
    uncounted = static(temp_bytes=5, unavailable={"flops": "top_k is not counted"})
    mine = record("x", 4096, static={"host": uncounted})
    found = compare_to(suite, base, mine)
    assert (found.flops_ratio, found.temp_ratio, found.bytes_ratio) == (None, None, None)
    missing = {"flops": "top_k is not counted", "temp_bytes": "the baseline's is 0"}
    assert found.unavailable == {**missing, "bytes_accessed": "not counted"}


def test_ratios_are_those_of_the_requested_target(record, suite, static):
    base = record("base", 1, static={"host": static(temp_bytes=1), "tpu:v5p": static(temp_bytes=8)})
    mine = record("x", 1, static={"host": static(temp_bytes=2), "tpu:v5p": static(temp_bytes=2)})
    (host,) = comparisons(suite([base, mine]))
    (tpu,) = comparisons(suite([base, mine]), target="tpu:v5p")
    assert (host.temp_ratio, tpu.temp_ratio) == (2.0, 0.25)


def test_options_distinguish_cases_and_the_baseline_is_not_compared_with_itself(record, suite):
    times = {1: ROUNDS, 2: [r / 2 for r in ROUNDS]}
    records = [record("base", 4096, samples, options={"k": k}) for k, samples in times.items()]
    found = compare_to(suite, *records, baseline="mask/base[k=1]")
    assert (found.implementation, found.speedup) == ("mask/base[k=2]", pytest.approx(2.0))
