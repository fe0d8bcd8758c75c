"""`check`: the checks of a family beside its contracts, by name, by implementation, and what fails."""

from pathlib import Path

import pytest

PLUGIN = str(Path(__file__).with_name("checked_plugin.py"))


@pytest.fixture(scope="module")
def checked(seqsweep):
    return lambda *words: seqsweep("check", *words, "--seq", "8", "--plugin", PLUGIN, "--json")


def by_name(said):
    return {
        record["implementation"].split("/")[1]: {one["check"]: one for one in record["checks"]}
        for record in said.json["records"]
    }


def test_every_check_that_concerns_a_case_is_made(checked):
    said = checked("doubled")
    assert said.code == 4, "remembered fails one"
    found = by_name(said)
    assert set(found["added"]) == {"doubled/positive", "doubled/size"}
    assert found["added"]["doubled/positive"]["passed"] is True
    assert found["added"]["doubled/positive"]["objection"] == "ones must not vanish (a reviewer)"
    assert found["added"]["doubled/size"]["passed"] is None
    assert found["added"]["doubled/size"]["figures"] == {"n": 8}
    failed = found["remembered"]["doubled/positive"]
    assert (failed["passed"], failed["reason"]) == (False, "a doubled one is not positive")


def test_an_implementation_alone(checked):
    said = checked("doubled/added")
    assert said.code == 0
    assert list(by_name(said)) == ["added"]


def test_a_check_alone(checked):
    found = by_name(checked("doubled/size"))
    assert {name for checks in found.values() for name in checks} == {"doubled/size"}
    assert set(found) == {"added", "remembered"}


def test_a_check_of_one_implementation(checked):
    said = checked("doubled/positive", "doubled/added")
    assert said.code == 0
    assert by_name(said) == {"added": {"doubled/positive": by_name(said)["added"]["doubled/positive"]}}


def test_a_typo_names_the_nearest_check(seqsweep):
    said = seqsweep("check", "doubled/posittive", "--seq", "8", "--plugin", PLUGIN)
    assert said.code == 2
    assert 'nearest: "doubled/positive"' in said.err


def test_a_run_makes_no_checks(seqsweep):
    words = ("--family", "doubled", "--seq", "8", "--plugin", PLUGIN, "--budget", "10ms", "--json")
    said = seqsweep("run", *words, "--impl", "added")
    assert said.code == 0
    assert [record["checks"] for record in said.json["records"]] == [[]]


def test_the_page_names_the_objection(seqsweep):
    said = seqsweep("check", "doubled", "--seq", "8", "--plugin", PLUGIN)
    assert "checks of doubled" in said.out
    assert "ones must not vanish (a reviewer)" in said.out
    assert "1 of 2" in said.out
