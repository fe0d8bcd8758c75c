"""Cold starts whose every second is known, and the call at which they have paid back."""

import pytest

from harness.core.record import ColdStart
from harness.profile.cold_start import cold_cases, cold_data, cold_sentences, cold_table
from tests.records import PASSED, record_of, timing_of

K = 1024


def cold(name, *, baseline=False, processes=6, **steps):
    """`import_=1.0, first_call=2.0`: seconds in every process."""
    named = {step.replace("_", " ").strip(): (seconds,) * processes for step, seconds in steps.items()}
    start = ColdStart(named, {"trace": "eager"}, 10)
    values = {"correctness": PASSED, "timing": timing_of([1.0] * 6), "baseline": baseline}
    return record_of(name, K, cold=start, **values)


BASE = cold("base", baseline=True, import_=1.0, first_call=2.0, later_call=2.0)


def test_a_compilation_pays_back_at_the_call_that_makes_up_for_it():
    mine = cold("mine", import_=1.0, compile=9.0, first_call=1.0, later_call=1.0, cache_hit=0.5)
    base, case = cold_cases([BASE, mine])
    assert (case.to_first.value, case.pays_back, case.reason) == (11.0, 9, "")
    assert (case.steps["cache hit"].value, case.steps["cache hit"].low) == (0.5, 0.5)
    assert (base.pays_back, base.reason) == (None, "it is the baseline")
    assert case.missing == {"trace": "eager"}


def test_what_is_ahead_at_once_pays_back_with_its_first_call():
    case = cold_cases([BASE, cold("mine", import_=1.0, first_call=1.0, later_call=1.0)])[1]
    assert case.pays_back == 1


def test_what_is_no_faster_later_never_does():
    case = cold_cases([BASE, cold("mine", import_=0.5, first_call=1.0, later_call=2.0)])[1]
    assert (case.pays_back, case.reason) == (None, "its later calls are no faster than its baseline's")


def test_without_a_baseline_at_its_length_nobody_knows():
    mine = cold("mine", import_=1.0, first_call=1.0, later_call=1.0)
    assert cold_cases([mine])[0].reason == "its baseline has no cold start here"


def test_too_few_processes_have_no_interval():
    few = cold("mine", processes=3, import_=1.0, first_call=1.0, later_call=1.0)
    assert cold_cases([few])[0].to_first.reason == "needs ≥ 6 processes; has 3"


def test_a_step_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="step of a cold start"):
        ColdStart({"warm": (1.0,)}, {})


def test_the_sentence_the_table_and_the_json_have_the_same_numbers():
    mine = cold("mine", import_=1.0, compile=9.0, first_call=1.0, later_call=1.0)
    cases = cold_cases([BASE, mine])
    assert cold_sentences(cases)[1].endswith(
        "has its first result after 11.00 s; it has caught up with its baseline after 9 calls."
    )
    rows = [tuple(cell.text for cell in row) for row in cold_table(cases).rows]
    assert ("", "", "compile", "9.000 s", "[9.000, 9.000]") in rows
    assert rows[-1] == ("", "", "trace: eager", "–", "")
    data = cold_data(cases)[1]
    assert (data["pays_back"], data["to_first"]["value_s"], data["later_call"]) == (9, 11.0, 10)
    assert data["steps"]["compile"]["processes"] == 6
