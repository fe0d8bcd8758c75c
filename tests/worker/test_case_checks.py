from types import SimpleNamespace

import pytest

from harness import Check, Judgement
from harness.worker.case_checks import run_checks


def result_of(judge):
    """The result of one check with this judge, on a case that is not called."""
    built = SimpleNamespace(
        implementation=SimpleNamespace(fails=lambda w, options: {}), family=SimpleNamespace(name="points")
    )
    (result,) = run_checks(built, [Check("c", "?", judge)], SimpleNamespace(workload=None, options={}))
    return result["passed"], result["figures"], result["reason"]


def test_a_judgement_is_the_result():
    assert result_of(lambda trial: Judgement(True, {"least": 2})) == (True, {"least": 2}, "")


@pytest.mark.parametrize(
    ("judge", "says"),
    [
        (lambda trial: True, "TypeError: it returns bool; return Judgement(passed, figures, reason)"),
        (lambda trial: Judgement(True, {"a": [1]}), "TypeError: a list is not a figure; use a number"),
        (lambda trial: Judgement(True, {}, None), "UsageError: Judgement: its reason is None; use str"),
        (lambda trial: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_a_check_without_a_judgement_fails_without_ending_the_case(judge, says):
    passed, figures, reason = result_of(judge)
    assert (passed, figures) == (False, {})
    assert reason.startswith(says)
