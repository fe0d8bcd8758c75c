import math
import statistics

import pytest

from harness.analysis.suite_results import SuiteResults

T_975_3 = 3.182446  # Student's t with 3 degrees of freedom, tabulated
LENGTHS = (1024, 2048, 4096, 8192)


def sweep(record, speedups, *, name="x", base=True, **more):
    """`name` at each length faster than the baseline's second by a factor; None: it was not timed."""
    found = []
    for seq, speedup in zip(LENGTHS, speedups, strict=False):
        found += [record("base", seq, [1.0] * 6, **more)] if base else []
        timed = [1 / speedup] * 6 if speedup else None
        found.append(record(name, seq, timed, status="ok" if speedup else "oom", **more))
    return found


def test_the_mean_of_2_and_8_is_4_not_5(record, suite):
    (found,) = SuiteResults.of(suite(sweep(record, [2.0, 8.0]))).means
    assert found.mean == pytest.approx(4.0)
    assert (found.suite, found.implementation, found.baseline) == ("s", "mask/x", "mask/base")
    assert found.panel == "batch=1,dtype=f32:fwd:cpu"
    assert (found.n, found.of, found.lengths, found.notes) == (2, 2, (1024, 2048), ())
    assert (found.low, found.high, found.reason) == (None, None, "needs ≥ 4 processes; has 1")


def test_only_lengths_at_which_both_sides_were_timed_enter(record, suite):
    records = sweep(record, [2.0, None, 8.0])
    records += [record("base", 8192, status="oom"), record("x", 8192, [1.0] * 6)]
    (found,) = SuiteResults.of(suite(records)).means
    assert found.mean == pytest.approx(4.0)
    assert (found.n, found.of, found.lengths) == (2, 4, (1024, 4096))


def test_a_length_that_only_others_have_counts_among_the_suites(record, suite):
    records = [*sweep(record, [2.0, 2.0, 2.0]), *sweep(record, [3.0, 3.0], name="y", base=False)]
    assert [(found.n, found.of) for found in SuiteResults.of(suite(records)).means] == [(3, 3), (2, 3)]


@pytest.mark.parametrize(("speedups", "count"), [([2.0, None, None], 1), ([None, None], 0)])
def test_one_point_has_no_mean(record, suite, speedups, count):
    (found,) = SuiteResults.of(suite(sweep(record, speedups))).means
    assert (found.mean, found.low, found.high, found.n) == (None, None, None, count)
    assert found.reason == f"geometric mean needs ≥ 2 paired points; has {count}"


def test_clocks_of_two_kinds_make_no_point(record, suite, timing):
    records = sweep(record, [2.0, 8.0])
    records += [record("base", 4096, [1.0] * 6)]
    records += [record("x", 4096, timing=timing([0.1] * 6, method="cuda_events"))]
    (found,) = SuiteResults.of(suite(records)).means
    assert (found.mean, found.n, found.of) == (pytest.approx(4.0), 2, 3)


def test_panels_and_options_are_never_averaged_together(record, suite):
    records = [*sweep(record, [2.0, 8.0]), *sweep(record, [3.0, 27.0], mode="bwd")]
    found = {one.panel.split(":")[1]: one.mean for one in SuiteResults.of(suite(records)).means}
    assert found == pytest.approx({"fwd": 4.0, "bwd": 9.0})
    records = sweep(record, [2.0, 8.0], options={"k": 1}) + sweep(record, [3.0, 3.0], options={"k": 2})
    labels = {one.implementation: one.mean for one in SuiteResults.of(suite(records, "mask/base[k=1]")).means}
    assert labels["mask/x[k=1]"] == pytest.approx(4.0)


def test_without_a_baseline_there_are_no_means(record, suite):
    assert SuiteResults.of(suite(sweep(record, [2.0, 8.0]), "")).means == []


def test_from_four_processes_on_the_interval_is_over_their_means(record, suite):
    """Length by length the processes disagree widely; each one's own mean differs little."""
    per_process = [(2.0, 8.0), (4.0, 4.2), (8.0, 2.0), (1.0, 15.5)]
    records = []
    for replicate, speedups in enumerate(per_process):
        records += sweep(record, speedups, replicate=replicate)
    (found,) = SuiteResults.of(suite(records)).means
    logs = [(math.log(short) + math.log(long)) / 2 for short, long in per_process]
    half = T_975_3 * statistics.stdev(logs) / 2
    assert found.mean == pytest.approx(math.exp(statistics.fmean(logs)))
    assert found.low == pytest.approx(math.exp(statistics.fmean(logs) - half), rel=1e-6)
    assert found.high == pytest.approx(math.exp(statistics.fmean(logs) + half), rel=1e-6)
    assert found.reason is None


def test_the_effect_of_a_process_is_the_median_of_ratios_within_rounds(record, suite):
    """Every round but the last is twice as fast; the rounds themselves differ a hundredfold."""
    base = [1.0, 100.0, 10.0, 3.0, 30.0]
    mine = [0.5, 50.0, 5.0, 1.5, 60.0]
    records = []
    for replicate in range(5):
        for seq in LENGTHS[:2]:
            records += [record("base", seq, base, replicate=replicate)]
            records += [record("x", seq, mine, replicate=replicate)]
    (found,) = SuiteResults.of(suite(records)).means
    assert (found.mean, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.parametrize(
    ("processes", "without", "reason"),
    [
        (4, {(1, 0)}, "needs ≥ 4 processes; has 3"),
        (5, {(0, 0), (1, 4)}, "not every length was timed by the same processes"),
    ],
)
def test_a_length_that_a_process_lacks_leaves_no_interval(record, suite, processes, without, reason):
    """`without` are (length, process): that was not timed there."""
    records = []
    for replicate in range(processes):
        speedups = [None if (at, replicate) in without else speedup for at, speedup in enumerate((2.0, 8.0))]
        records += sweep(record, speedups, replicate=replicate)
    (found,) = SuiteResults.of(suite(records)).means
    assert (found.mean, found.low, found.reason) == (pytest.approx(4.0), None, reason)


def test_means_over_fewer_lengths_than_others_say_so(record, suite):
    records = sweep(record, [2.0, 2.0, 2.0])
    for name, second in (("y", 3.0), ("z", None)):
        records += sweep(record, [3.0, None, second], name=name, base=False)
    notes = {found.implementation: found.notes for found in SuiteResults.of(suite(records)).means}
    note = "over 1Ki, 4Ki: rank it only with means over the same lengths"
    assert notes == {"mask/x": (), "mask/y": (note,), "mask/z": ()}
    records = [*sweep(record, [2.0, None, 2.0]), *sweep(record, [3.0, None, 3.0], name="y", base=False)]
    assert [found.notes for found in SuiteResults.of(suite(records)).means] == [(), ()], "the same gap in all"
