"""What a sensitivity says of records whose every time is known."""

import io

import pytest

from harness.analysis.results import by_suite
from harness.analysis.sensitivity import sensitivities
from harness.report.console import TextConsole
from harness.report.sensitivity import headline, sentence
from harness.report.tables.sensitivity_table import print_sensitivities
from tests.records import FAILED, PASSED, record_of, timing_of
from tests.report.conftest import info_of

STEADY = [1.0 + 0.001 * (place % 7) for place in range(30)]


def record(name, data, seconds=None, seq=4096, **more):
    if seconds:
        more |= {"timing": timing_of([seconds * s for s in STEADY]), "correctness": PASSED}
    return record_of(name, seq, workload={"distribution": data}, **more)


def sentences_of(*records, factor=1.5):
    found = sensitivities_of(records)
    return {one.implementation: sentence(one, factor) for one in found}


def sensitivities_of(records):
    info = info_of(records, "mask/broadcast")
    info["suites"]["mask"]["interleaved"] = "distribution"
    return sensitivities(by_suite(info, records), {})


def against(**seconds):
    """`scatter` at so many seconds on each distribution, where `broadcast` always takes one."""
    return [
        record(*each)
        for data, s in seconds.items()
        for each in (("broadcast", data, 1.0), ("scatter", data, s))
    ]


def test_one_that_is_always_faster_has_its_worst_data_named():
    said = sentences_of(*against(iid=0.25, tied=0.5, zeros=0.4))
    assert said["mask/scatter"] == (
        "scatter is 2.00× to 4.00× faster than broadcast at 4Ki; worst: tied, 2.000× [2.000, 2.000], "
        "best: iid, 4.000× [4.000, 4.000]; a factor of 1.5 between distributions in the speedup is found: "
        "largest 2.00× [2.00, 2.00], iid over tied at 4Ki"
    )
    assert said["mask/broadcast"].startswith(
        "broadcast, the baseline; a factor of 1.5 between distributions in its own time is excluded"
    )


def test_one_that_is_always_slower_is_told_by_how_much():
    said = sentences_of(*against(iid=2.0, tied=2.5))["mask/scatter"]
    assert said.startswith("scatter is 2.00× to 2.50× slower than broadcast at 4Ki; worst: tied, 0.40")
    assert "a factor of 1.5 between distributions in the speedup is excluded: largest 1.25×" in said


def test_a_headline_that_holds_for_one_distribution_only_says_which():
    said = sentences_of(*against(iid=0.5, tied=2.0, zeros=1.0))["mask/scatter"]
    assert said.startswith(
        "scatter against broadcast at 4Ki: faster on iid only, slower on tied, not told apart on zeros; worst"
    )


def test_a_contract_that_fails_on_some_data_is_told_with_its_reason():
    wrong = record("scatter", "ties", status="incorrect", reason="12 columns are open", correctness=FAILED)
    said = sentences_of(*against(iid=0.5, zeros=0.5), record("broadcast", "ties", 1.0), wrong)["mask/scatter"]
    assert said.endswith("; incorrect at 4Ki on ties: 12 columns are open")
    others = [
        record("scatter", data, status="incorrect", reason=why, correctness=FAILED)
        for data, why in (("zeros", "NaN"), ("ones", "12 columns are open"))
    ]
    said = sentences_of(*against(iid=0.5, tied=0.5), wrong, *others)["mask/scatter"]
    assert said.endswith(
        "; incorrect at 4Ki on ties, ones: 12 columns are open; incorrect at 4Ki on zeros: NaN"
    )


def test_no_time_beside_the_baseline_is_said_so():
    skipped = [record("broadcast", data, status="skipped") for data in ("iid", "tied")]
    said = sentences_of(*skipped, *(record("scatter", data, 1.0) for data in ("iid", "tied")))["mask/scatter"]
    assert said.startswith("scatter has no time beside that of broadcast on two distributions; how")


def test_what_runs_nowhere_is_said_once_and_costs_the_others_nothing():
    no_room = "a bucket has 1 scores, fewer than keep 2"
    nowhere = [record("two_stage", d, status="unsupported", reason=no_room) for d in ("iid", "tied")]
    timed = against(iid=0.5, tied=0.5)
    assert sentences_of(*timed, *nowhere)["mask/two_stage"] == (
        f"two_stage has no time on any distribution; unsupported at 4Ki on iid, tied: {no_room}"
    )
    alone, beside = sensitivities_of(timed), sensitivities_of([*timed, *nowhere])
    assert [one.largest for one in beside[: len(alone)]] == [one.largest for one in alone]
    assert headline(beside, 1.5).endswith("; not known for two_stage")


def test_one_distribution_with_times_is_told_of_without_a_factor():
    failed = [record(name, "tied", status="crashed", reason="why") for name in ("broadcast", "scatter")]
    for said in sentences_of(*against(iid=0.5), *failed).values():
        assert "two distributions have no time at one length" in said


def test_what_has_no_speedup_widens_no_other_interval():
    timed, other = against(iid=0.5, tied=0.5), {"mode": "bwd"}
    skipped = [record("broadcast", data, status="skipped", **other) for data in ("iid", "tied")]
    beside = [*timed, *skipped, *(record("scatter", data, 1.0, **other) for data in ("iid", "tied"))]
    first, *_ = sensitivities_of(beside)
    assert first.largest == sensitivities_of(timed)[0].largest


def test_the_found_factor_decides_at_which_length_it_is_told():
    short = against(iid=0.25, tied=0.5)
    long = [record(r.implementation[5:], r.workload["distribution"], 1.0, seq=8192) for r in short]
    assert "faster than broadcast at 4Ki" in sentences_of(*short, *long)["mask/scatter"]


@pytest.mark.parametrize("width", [80, 160])
def test_sentences_come_before_the_table(width):
    records = against(iid=0.25, tied=0.5)
    found = sensitivities_of(records)
    out = io.StringIO()
    print_sensitivities(TextConsole(file=out, width=width), found, 1.5)
    lines = out.getvalue().splitlines()
    assert lines[0] == (
        "mask: batch=1 dtype=f32, fwd on cpu: a factor of 1.5 between distributions is found for scatter; "
        "excluded for broadcast"
    )
    assert lines[1].startswith("scatter is 2.00×")
    assert lines[2].startswith("broadcast, the baseline")
    assert "distribution" in lines[3]
    assert sum("exact" in line for line in lines[4:]) >= 4
