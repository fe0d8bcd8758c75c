"""The shares of stages whose times, counts and ceilings are known."""

from dataclasses import replace

from harness.analysis.roofline import UNMEASURED
from harness.core.record import Cost
from harness.profile.report import print_profiles, roof_data, roof_sentences, roof_shares
from harness.profile.stage_times import profiled_case, profiled_series
from harness.report.console import TextConsole
from tests.profile.test_stage_times import K, profiled
from tests.rooflines import machine

KNOWN = {"here": machine(f32=500.0)}


def known(stages):
    return replace(profiled(K, stages), fingerprint="here", cost=Cost(500, None))


def test_each_stage_and_the_whole_has_its_share():
    case = profiled_case(known({"": 1.0, "a": 4.0, "b": 0.5}))
    shares = {name: share.share.value for name, share in roof_shares(case, KNOWN).items()}
    assert shares == {"whole": 500 / 5.5 / 500, "": 1.2, "a": 0.3, "b": 2.4}


def test_time_in_which_two_stages_ran_side_by_side_counts_for_both():
    record = known({"": 1.0, "a": 3.0, "b": 2.0})
    beside = {"a": (1.0,) * 6, "b": (1.0,) * 6, "": ()}
    stages = tuple(replace(stage, beside_s=beside[stage.stage]) for stage in record.profile.stages)
    shares = roof_shares(
        profiled_case(replace(record, profile=replace(record.profile, stages=stages))), KNOWN
    )
    assert (shares["a"].share.value, shares["b"].share.value) == (600 / 4 / 500, 600 / 3 / 500)


def test_a_refused_share_is_named_and_stands_in_no_cell(capsys):
    series = profiled_series([known({"": 4.0, "a": 4.0, "b": 0.5})])
    print_profiles(TextConsole(width=150), series, KNOWN)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert next(row for row in rows if row[:1] == ["b"])[-1] == "refused"
    assert next(row for row in rows if row[:1] == ["a"])[-4:] == ["30.0", "%", "of", "compute"]
    assert any(row[:3] == ["in", "no", "stage,"] or row[:2] == ["b:", "refused:"] for row in rows)
    (refused,) = [entry for entry in roof_data(series, KNOWN) if entry["refused"]]
    assert (refused["stage"], refused["share"]["value"]) == ("b", 2.4)


def test_without_ceilings_one_sentence_says_how_to_measure_them():
    cases = [profiled_case(known({"a": 1.0}))]
    assert roof_sentences(cases, {}) == [f"No roof: {UNMEASURED}."]
