"""The JUnit document, read back by the standard library."""

from xml.etree.ElementTree import fromstring

import pytest

from harness.gate.outcome import FAIL, INCORRECT, NOT_ENOUGH, REGRESSED, WARN, CaseVerdict
from harness.gate.report.junit import junit
from tests.gate.report.conftest import golden


def results(root):
    """Case → what kind of result it has, `passed` where none."""
    return {
        test.get("name"): next((child.tag for child in test if child.tag != "system-out"), "passed")
        for test in root.iter("testcase")
    }


def test_the_document_of_every_verdict(outcome):
    assert junit(outcome()) == golden("gate_junit.xml")


@pytest.mark.parametrize(("inconclusive", "result"), [(WARN, "skipped"), (FAIL, "failure")])
def test_leniency_decides_over_not_enough_evidence(outcome, verdict, inconclusive, result):
    found = junit(outcome([verdict("m/a", NOT_ENOUGH, -3, 3, 9)], inconclusive=inconclusive))
    assert results(fromstring(found)) == {"m/a": result}


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
