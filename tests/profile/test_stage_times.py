"""Profiles with known numbers, and the figures computed from them."""

import json
from dataclasses import replace
from io import StringIO

import pytest

from harness.analysis.roofline import UNMEASURED
from harness.core.record import Cost, Profile, StageFigures
from harness.profile.report import (
    print_profiles,
    profile_data,
    roof_data,
    roof_sentences,
    roof_shares,
    sentences,
)
from harness.profile.stage_times import growths, profiled_case, profiled_series
from harness.report.console import TextConsole
from tests.goldens import assert_golden, scenes
from tests.records import PASSED, record_of, timing_of
from tests.rooflines import machine

K = 1024
ROUNDS = 6


def profiled(seq, stages, *, plain=None, rounds=ROUNDS, name="sparse"):
    """A case with these seconds per stage in every round, and 10 % more in the last."""
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


def marked(seq, stages, beside=None, **more):
    """A profiled case; `beside` are seconds of a stage that overlap with another."""
    record = profiled(seq, stages, **more)
    figures = tuple(
        replace(stage, beside_s=(beside[stage.stage],) * ROUNDS)
        if beside and stage.stage in beside
        else stage
        for stage in record.profile.stages
    )
    return replace(record, profile=replace(record.profile, stages=figures))


def known(stages, **more):
    return replace(marked(K, stages, **more), fingerprint="here", cost=Cost(500, None))


KNOWN = {"here": machine(f32=500.0)}
UNEVEN = {1: 0.5, 2: 3.0, 4: 4.0, 8: 14.0}
SCENES = {
    "one call": [profiled(4 * K, {"": 1.0, "small": 1.0, "large": 6.0}, plain=4.0)],
    "no time": [profiled(4 * K, {"": 0.0, "a": 0.0}, plain=1.0)],
    "too few rounds": [profiled(4 * K, {"": 1.0, "a": 1.0}, rounds=3)],
    "the steepest": [profiled(n * K, {"linear": 8.0 * n, "square": 0.25 * n * n, "": 0.1}) for n in (1, 2,
        4, 8)],
    "open": [profiled(n * K, {"linear": 8.0 * n, "steep": at}) for n, at in UNEVEN.items()],
    "two lengths": [profiled(n * K, {"linear": 8.0 * n, "steep": UNEVEN[n]}) for n in (4, 8)],
    "a speck": [profiled(n * K, {"all": 100.0 * n, "speck": 0.01 * n**3}) for n in (1, 2)],
    "two series": [profiled(n * K, {"": 1.0}) for n in (4, 1)] + [profiled(K, {"": 1.0}, name="dense")],
    "operators of several stages": [profiled(K, {"a": 4.0, "a + b": 1.0, "b": 2.0, "": 1.0})],
    "side by side": [marked(K, {"a": 3.0, "b": 1.0, "": 1.0}, {"a": 1.0})],
    "shares of roofs, one refused": [known({"": 4.0, "a": 4.0, "b": 0.5})],
    "shares of roofs, side by side": [known({"": 1.0, "a": 3.0, "b": 2.0}, beside={"a": 1.0, "b": 1.0})],
}  # fmt: skip


def text_of(records):
    """The printed profiles, their sentences, and their data as JSON."""
    series = profiled_series(records)
    terminal = TextConsole(width=160, record=True, file=StringIO())
    print_profiles(terminal, series, KNOWN)
    data = {**profile_data(series), "roofs": list(roof_data(series, KNOWN))}
    rounded = json.loads(json.dumps(data), parse_float=lambda text: float(f"{float(text):.9g}"))
    return "\n".join([terminal.export_text(), json.dumps(rounded, ensure_ascii=False)])


def test_profiles_match_the_golden_file():
    assert_golden("profiles.txt", scenes({name: text_of(records) for name, records in SCENES.items()}))


def test_stages_add_up_to_the_marked_call():
    case = profiled_case(SCENES["one call"][0])
    assert (case.sum.value, case.covered.value, case.whole.value, case.cost.value) == (7.0, 0.875, 4.0, 2.0)
    idle = profiled_case(SCENES["no time"][0])
    assert idle.covered.value == 0.0
    case = profiled_case(SCENES["side by side"][0])
    assert (case.of("a").time.value, case.of("a").busy.value, case.of("a").flops_per_s) == (3.0, 4.0, 150.0)


def test_the_steepest_stage_comes_first():
    first, second = growths([profiled_case(record) for record in SCENES["the steepest"]])
    assert (first.stage, first.exponent, second.stage, second.exponent) == ("square", 2.0, "linear", 1.0)


def test_overlapped_time_counts_for_both_stages():
    case = profiled_case(SCENES["shares of roofs, side by side"][0])
    shares = roof_shares(case, KNOWN)
    assert [shares[name].share.value for name in "ab"] == pytest.approx([600 / 4 / 500, 600 / 3 / 500])
    assert roof_sentences([case], {}) == [f"No roof: {UNMEASURED}."]


def test_records_without_a_profile_are_ignored():
    record = profiled(K, {"": 1.0})
    assert profiled_series([replace(record, profile=None)]) == {}
    with pytest.raises(ValueError, match="a profile without a timing"):
        replace(record, timing=None)
    (line,) = sentences([profiled_case(record)])
    assert line.startswith("At 1Ki (1.00 s per call): no stage is marked")
