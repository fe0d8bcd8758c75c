"""What a sensitivity says of records whose every time is known."""

import io

import pytest

from harness.analysis.results import by_suite
from harness.analysis.sensitivity import sensitivities
from harness.report.console import TextConsole
from harness.report.tables.sensitivity_table import print_sensitivities, sentence
from tests.records import FAILED, PASSED, record_of, timing_of
from tests.report.conftest import info_of

STEADY = [1.0 + 0.001 * (place % 7) for place in range(30)]


def record(name, data, seconds=None, seq=4096, **more):
    if seconds:
        more |= {"timing": timing_of([seconds * s for s in STEADY]), "correctness": PASSED}
    return record_of(name, seq, workload={"distribution": data}, **more)


def sentences_of(*records):
    return {one.implementation: sentence(one) for one in sensitivities_of(records)}


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


def test_the_largest_change_is_named_with_its_interval():
    said = sentences_of(*against(iid=0.25, tied=0.5, zeros=0.4))
    assert said == {
        "mask/scatter": "scatter: its speedup over broadcast differs most on tied at 4Ki: "
        "0.5000× [0.5000, 0.5000] of that on iid",
        "mask/broadcast": "broadcast: its time differs most on tied at 4Ki: "
        "1.000× [1.000, 1.000] of that on iid (about the same)",
    }


def test_what_has_no_interval_says_why():
    brief = {"timing": timing_of([1.0] * 3), "correctness": PASSED}
    few = [record("broadcast", data, **brief) for data in ("iid", "tied")]
    assert "(needs ≥ 6 rounds; has 3)" in sentences_of(*few)["mask/broadcast"]


def test_what_has_no_time_on_two_distributions_says_so():
    failed = [record(name, "tied", status="crashed", reason="why") for name in ("broadcast", "scatter")]
    for said in sentences_of(*against(iid=0.5), *failed).values():
        assert said.endswith("is not timed on two distributions of one length, iid and another")


@pytest.mark.parametrize("width", [80, 160])
def test_sentences_come_before_the_table(width):
    wrong = record("scatter", "ties", status="incorrect", reason="12 columns are open", correctness=FAILED)
    found = sensitivities_of([*against(iid=0.25, tied=0.5), record("broadcast", "ties", 1.0), wrong])
    out = io.StringIO()
    print_sensitivities(TextConsole(file=out, width=width), found)
    lines = out.getvalue().splitlines()
    assert lines[0] == "mask: batch=1 dtype=f32, fwd on cpu"
    assert lines[1].startswith("scatter: its speedup over broadcast")
    assert lines[2].startswith("broadcast: its time")
    assert "distribution" in lines[3]
    assert width == 80 or sum("exact" in line for line in lines[4:]) >= 4
    assert any("12 columns are open" in line for line in lines[4:])
