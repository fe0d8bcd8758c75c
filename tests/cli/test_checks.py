"""`check`: the checks of a family in addition to its contracts, by name, by implementation, and failures."""

from pathlib import Path

import pytest

PLUGIN = str(Path(__file__).with_name("checked_plugin.py"))


@pytest.fixture(scope="module")
def checked(seqsweep):
    return lambda *words: seqsweep("check", *words, "--seq", "8", "--plugin", PLUGIN, "--json")


@pytest.fixture(scope="module")
def whole(checked):
    """All checks of all implementations in both modes."""
    return checked("doubled", "--mode", "fwd,bwd")


def by_name(said, mode="fwd"):
    return {
        record["implementation"].split("/")[1]: {one["check"]: one for one in record["checks"]}
        for record in said.json["records"]
        if record["mode"] == mode
    }


def test_every_check_that_applies_to_a_case_is_run(whole):
    assert whole.code == 4, "remembered fails one"
    assert {record["timing"] for record in whole.json["records"]} == {None}
    found = by_name(whole)
    assert set(found["added"]) == {"doubled/positive", "doubled/size", "doubled/longer"}
    assert found["added"]["doubled/positive"]["passed"] is True
    assert found["added"]["doubled/positive"]["objection"] == "ones must not vanish (a reviewer)"
    assert found["added"]["doubled/size"]["passed"] is None
    assert found["added"]["doubled/size"]["figures"] == {"n": 8}
    failed = found["remembered"]["doubled/positive"]
    assert (failed["passed"], failed["reason"]) == (False, "a doubled one is not positive")


def test_a_check_may_use_another_workload(whole):
    found = by_name(whole)
    assert found["added"]["doubled/longer"]["figures"] == {"elements": 16}
    assert "doubled/longer" not in found["declared"], "it does not support that length"


def test_a_declared_failure_is_shown_with_the_result(whole):
    found = by_name(whole)
    failing, holding = found["tripled"]["doubled/longer"], found["declared"]["doubled/positive"]
    assert (failing["passed"], failing["expected"]) == (False, True)
    assert failing["reason"] == "a longer one is not doubled; expected: it triples"
    assert holding["passed"] is True
    assert holding["reason"] == "marked as failing (so it was said) but passes; remove the marker"


def test_facts_and_the_cost_of_a_semantics_are_in_the_record(whole):
    (record,) = (
        r for r in whole.json["records"] if (r["implementation"], r["mode"]) == ("doubled/declared", "fwd")
    )
    assert record["facts"] == {"elements": 8, "doubled_by": "adding", "nothing": None}
    assert record["cost"]["flops"] == 8


def test_a_check_of_a_backward_sees_gradients(whole):
    assert "doubled/slope" not in by_name(whole)["declared"]
    assert by_name(whole, "bwd")["declared"]["doubled/slope"]["passed"] is True
