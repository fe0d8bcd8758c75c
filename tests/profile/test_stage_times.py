"""Profiles whose every number is known before anything is computed from it."""

from dataclasses import replace
from io import StringIO

import pytest

from harness.core.record import Profile, StageFigures
from harness.profile.report import print_profiles, profile_data, sentences
from harness.profile.stage_times import growths, profiled_case, profiled_series
from harness.report.console import TextConsole
from tests.records import PASSED, record_of, timing_of

K = 1024
ROUNDS = 6


def profiled(seq, stages, *, plain=None, rounds=ROUNDS, name="sparse"):
    """A case whose stages take these seconds in every round; 10 % more in the last."""
    factors = [1.0] * (rounds - 1) + [1.1]
    figures = tuple(
        StageFigures(stage, tuple(seconds * f for f in factors), 1, 3, 600, 64)
        for stage, seconds in stages.items()
    )
    whole = sum(stages.values()) if plain is None else plain
    profile = Profile(tuple(whole * f for f in factors), figures)
    return record_of(
        name, seq, family="attention", correctness=PASSED, timing=timing_of([whole] * 6), profile=profile
    )


def test_stages_add_up_to_the_marked_call_and_the_rest_stands_last():
    case = profiled_case(profiled(4 * K, {"": 1.0, "small": 1.0, "large": 6.0}, plain=4.0))
    assert [(s.stage, s.time.value, s.share.value) for s in case.stages] == [
        ("large", 6.0, 0.75),
        ("small", 1.0, 0.125),
        ("", 1.0, 0.125),
    ]
    assert (case.sum.value, case.covered.value, case.whole.value, case.cost.value) == (7.0, 0.875, 4.0, 2.0)
    assert case.stages[0].flops_per_s == 100.0
    assert case.stages[0].time.low == 6.0
    assert case.stages[0].time.high == pytest.approx(6.6)


def test_a_call_whose_operators_took_no_time_has_shares_of_zero():
    case = profiled_case(profiled(4 * K, {"": 0.0, "a": 0.0}, plain=1.0))
    assert [entry.share.value for entry in case.stages] == [0.0, 0.0]
    assert (case.covered.value, case.joined.value, case.overlap.value) == (0.0, 0.0, 1.0)


def test_too_few_rounds_have_no_interval_and_say_so():
    case = profiled_case(profiled(4 * K, {"": 1.0, "a": 1.0}, rounds=3))
    assert (case.whole.low, case.whole.reason) == (None, "needs ≥ 6 rounds; has 3")


def test_the_steepest_stage_is_named_with_the_length_at_which_it_would_be_the_largest():
    cases = [
        profiled_case(profiled(n * K, {"linear": 8.0 * n, "square": 0.25 * n * n, "": 0.1}))
        for n in (1, 2, 4, 8)
    ]
    first, second = growths(cases)
    assert (first.stage, first.exponent, second.stage, second.exponent) == ("square", 2.0, "linear", 1.0)
    assert first.overtakes == pytest.approx(32 * K)
    assert second.overtakes is None, "it is the largest"
    assert "square grows fastest, with N^2.00 [2.00, 2.00], and would be the largest from ≈ 32Ki on." in (
        sentences(cases)
    )
    almost = {"first": 8.0, "second": 0.5}, {"first": 16.0, "second": 1.0000001}
    alike = [profiled_case(profiled(n * K, times)) for n, times in zip((1, 2), almost, strict=True)]
    assert [growth.overtakes for growth in growths(alike)] == [None, None], "more doublings than say anything"
    assert sentences(cases)[0].startswith("At 8Ki (80 s a call): linear 79.9 % [79.9, 79.9], square 20.0 %")


def test_a_length_that_the_intervals_of_the_exponents_do_not_bear_out_is_said_to_be_open():
    uneven = {1: 0.5, 2: 3.0, 4: 4.0, 8: 14.0}
    cases = [profiled_case(profiled(n * K, {"linear": 8.0 * n, "steep": at})) for n, at in uneven.items()]
    (said,) = [sentence for sentence in sentences(cases) if "grows fastest" in sentence]
    assert said.startswith("steep grows fastest")
    assert said.endswith(" on, which the intervals of the exponents leave open.")
    two = sentences(cases[-2:])[1]
    assert "(no interval: two lengths)" in two
    assert two.endswith(" on, by extrapolation.")


def test_a_stage_that_is_small_at_the_longest_length_is_not_fitted():
    cases = [profiled_case(profiled(n * K, {"all": 100.0 * n, "speck": 0.01 * n**3})) for n in (1, 2)]
    assert [growth.stage for growth in growths(cases)] == ["all"]


def test_a_series_is_a_case_but_its_length_and_records_without_a_profile_are_in_none():
    records = [profiled(n * K, {"": 1.0}) for n in (4, 1)]
    other = profiled(K, {"": 1.0}, name="dense")
    series = profiled_series([*records, other, replace(records[0], profile=None)])
    assert [[case.seq for case in cases] for cases in series.values()] == [[K, 4 * K], [K]]


def test_a_case_without_marks_says_how_to_name_a_stage():
    (line,) = sentences([profiled_case(profiled(K, {"": 1.0}))])
    assert line.startswith("At 1Ki (1.00 s a call) no stage is marked")


def test_json_has_every_number_with_its_unit():
    data = profile_data(profiled_series([profiled(K, {"": 1.0, "a": 3.0})]))
    (case,) = data["profiles"]
    assert case["whole"]["value_s"] == 4.0
    assert case["stages"][0] | {"time": None, "busy": None, "share": None} == {
        "stage": "a", "time": None, "busy": None, "share": None, "entered": 1, "operators": 3, "flops": 600,
        "bytes": 64, "flops_per_s": 200.0,
    }  # fmt: skip
    assert case["stages"][0]["share"]["value"] == 0.75


def test_a_profile_without_a_timing_is_no_record():
    with pytest.raises(ValueError, match="a profile without a timing"):
        replace(profiled(K, {"": 1.0}), timing=None)


def test_an_operator_of_several_stages_is_shared_out_to_none():
    case = profiled_case(profiled(K, {"a": 4.0, "a + b": 1.0, "b": 2.0, "": 1.0}))
    assert [(s.stage, s.time.value) for s in case.stages[:3]] == [("a", 4.0), ("b", 2.0), ("a + b", 1.0)]
    assert (case.joined.value, case.overlap.value, case.of("a").busy.value) == (0.125, 1.0, 4.0)
    assert sentences([case])[1] == (
        "The stages are 87.5 % [87.5, 87.5] of the call, 12.5 % [12.5, 12.5] of it operators of several; "
        "marks make it 1.000× [1.000, 1.000] as long."
    )


def test_stages_that_ran_side_by_side_are_as_fast_as_the_time_in_which_they_ran():
    record = profiled(K, {"a": 3.0, "b": 1.0, "": 1.0})
    a, b, rest = record.profile.stages
    stages = replace(a, beside_s=b.samples_s), b, rest
    case = profiled_case(replace(record, profile=replace(record.profile, stages=stages)))
    assert (case.of("a").time.value, case.of("a").busy.value, case.of("a").flops_per_s) == (3.0, 4.0, 150.0)
    assert case.overlap.value == 1.25
    assert (
        "; side by side on several cores they ran 1.250× [1.250, 1.250] as long; marks"
        in sentences([case])[1]
    )


def test_a_stage_measured_alone_stands_beside_it_as_another_program():
    whole = replace(profiled(K, {"select": 4.0, "": 1.0}), workload={"seq": K, "stage": "attention"})
    alone = record_of("fast", K, family="attention", correctness=PASSED, timing=timing_of([2.0] * 6))
    slow = record_of("slow", K, family="attention", correctness=PASSED, timing=timing_of([3.0] * 6))
    others = [replace(each, workload={"seq": K, "stage": "select"}) for each in (slow, alone)]
    longer = replace(alone, seq=2 * K, workload={"seq": 2 * K, "stage": "select"})
    case = profiled_case(whole, [whole, *others, longer])
    assert {stage: (each.implementation, each.time.value) for stage, each in case.alone.items()} == {
        "select": ("attention/fast", 2.0)
    }
    terminal = TextConsole(width=160, record=True, file=StringIO())
    print_profiles(terminal, {"series": [case]})
    assert "2.000 s attention/fast" in terminal.export_text()
    assert profiled_case(whole, [whole, longer]).alone == {}
    without = profiled(K, {"": 1.0})
    assert profiled_case(without, [without]).alone == {}, "its family has no workloads for stages"
