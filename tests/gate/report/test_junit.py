"""The JUnit document, read back by the standard library."""

from xml.etree.ElementTree import fromstring

import pytest

from harness.gate.outcome import FAIL, INCORRECT, NOT_ENOUGH, REGRESSED, UNCHANGED, WARN, CaseVerdict
from harness.gate.report import junit


def results(root):
    """Case → what kind of result it has, `passed` where none."""
    return {
        test.get("name"): next((child.tag for child in test if child.tag != "system-out"), "passed")
        for test in root.iter("testcase")
    }


def test_every_verdict_has_its_result(outcome, case_id):
    found = results(fromstring(junit(outcome())))
    assert found[case_id("mask/scatter", 4096)] == "passed"
    assert found[case_id("mask/scatter", 65536)] == "passed"
    assert found[case_id("mask/scatter", 16384)] == "failure"
    assert found[case_id("topk/approx", 4096, 64)] == "failure"
    assert found[case_id("topk/exact", 4096, 64)] == "error"
    assert found[case_id("topk/exact", 4096)] == "error"
    assert found[case_id("mask/two_stage[buckets=4096,keep=2]", 4096)] == "skipped"
    assert found[case_id("topk/exact", 131072)] == "skipped"
    assert len(found) == 12


@pytest.mark.parametrize(("inconclusive", "result"), [(WARN, "skipped"), (FAIL, "failure")])
def test_leniency_decides_over_not_enough_evidence(outcome, verdict, inconclusive, result):
    found = junit(outcome([verdict("m/a", NOT_ENOUGH, -3, 3, 9)], inconclusive=inconclusive))
    assert results(fromstring(found)) == {"m/a": result}


def test_counts_and_time(outcome):
    root = fromstring(junit(outcome()))
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "12",
        "failures": "3",
        "errors": "2",
        "skipped": "4",
        "time": "61.500",
    }
    assert [(suite.get("name"), suite.get("tests")) for suite in root] == [("mask", "8"), ("topk", "4")]


def test_a_failure_has_figures_reason_and_place(outcome, case_id):
    tests = {test.get("name"): test for test in fromstring(junit(outcome())).iter("testcase")}
    test = tests[case_id("mask/scatter", 16384)]
    assert test[0].get("message") == "regressed +5.1 % [+3.2 %, +7.0 %]"
    assert test[0].text.startswith("more than 2.5 % slower, on fresh pairs too\nisolated:")
    assert (test.get("file"), test.get("line")) == ("/checkout/impls/mask/scatter.py", "12")


def test_a_pass_keeps_its_figures(outcome, verdict):
    root = fromstring(junit(outcome([verdict("m/a", UNCHANGED, -1, 0.5, 2)])))
    assert root.find("testsuite/testcase/system-out").text.startswith("unchanged +0.5 % [−1.0 %, +2.0 %]")


def test_between_equal_sides_a_difference_is_an_error(outcome, verdict):
    cases = [verdict("m/a", REGRESSED, 3, 5, 7), verdict("m/b", "improved", -7, -5, -3)]
    assert set(results(fromstring(junit(outcome(cases, self_check=True)))).values()) == {"error"}


def test_control_characters_do_not_break_the_document(outcome):
    case = CaseVerdict("m/a", INCORRECT, "\x1b[31m<wrong>\x00 & \ud800]]>\x1b[0m")
    root = fromstring(junit(outcome([case])))
    assert root.find("testsuite/testcase/error").text == "<wrong> & ]]>"


def test_a_side_that_does_not_load_is_one_error(outcome):
    root = fromstring(junit(outcome([], broken="git:3d602ab does not load")))
    assert (root.get("tests"), root.get("errors")) == ("1", "1")
    assert root.find("testsuite/testcase/error").text == "git:3d602ab does not load"


def test_a_family_of_which_everything_is_left_out_is_there(outcome):
    root = fromstring(junit(outcome([], left_out={"m/a": "too long"})))
    assert results(root) == {"m/a": "skipped"}
