from dataclasses import dataclass, replace

import numpy as np
import pytest

from harness import Contract, Judgement, Semantics, exact, tolerance
from harness.core.errors import FamilyFault, Unsupported
from harness.core.plain_data import plain
from harness.worker.array_files import checksums
from harness.worker.verify import Expected, draw_cotangents, judge, judge_return


@dataclass(frozen=True)
class Workload:
    dtype: str = "f32"


MEANING = Semantics("plain", lambda w, rows: None, exact(), gradient=tolerance({"f32": 1e-5}))
ROWS = np.array([0, 3, 9])
PART = np.arange(2 * 3 * 4, dtype=float).reshape(2, 3, 4)
WHOLE = np.zeros((2, 10, 4))
WHOLE[:, ROWS] = PART
ON_ROWS = Expected(PART, ROWS, 10)


def verdict(expected, handed, mode="fwd", meaning=MEANING):
    return judge(meaning, expected, handed, mode, Workload(), {})


def test_chosen_rows_are_selected_from_a_complete_result():
    assert verdict(ON_ROWS, WHOLE).passed
    elsewhere = WHOLE.copy()
    elsewhere[:, 5] = 7
    assert verdict(ON_ROWS, elsewhere).passed
    there = WHOLE.copy()
    there[1, 9, 2] = -1
    assert verdict(ON_ROWS, there).reason.startswith("1 elements differ; result[1, 9, 2] is -1.0")


@pytest.mark.parametrize("shape", [(), (2,), (2, 3, 4), (2, 11, 4), (10, 2, 4)])
def test_a_result_of_another_shape_is_incorrect_but_not_a_crash(shape):
    judged = verdict(ON_ROWS, np.zeros(shape))
    assert not judged.passed
    assert judged.reason == f"the result has shapes [{shape}]; the reference has [(2, 10, 4)]"


def test_a_wrong_shape_is_reported_with_the_layout():
    meaning = replace(MEANING, layout="[B, T, D]")
    for expected, shape in ((ON_ROWS, (10, 2, 4)), (Expected(PART), (3, 2, 4))):
        assert verdict(expected, np.zeros(shape), meaning=meaning).reason.endswith(", with axes [B, T, D]")


def returned(result, *, when):
    return {"result": result, "returned": np.array(checksums(when))}


def test_a_result_that_changes_after_the_call_fails():
    right = Judgement(True, {"mismatches": 0})
    assert judge_return(right, {"result": PART}) == right
    assert judge_return(right, returned((PART, ROWS), when=(PART, ROWS))) == right
    late = judge_return(right, returned((PART, ROWS), when=(PART, 0 * ROWS)))
    assert not late.passed
    assert late.reason.startswith("the result changed after the call returned")
    wrong = Judgement(False, {}, "3 elements differ")
    assert judge_return(wrong, returned(PART, when=PART)) == wrong
    assert judge_return(wrong, returned(PART, when=0 * PART)).reason == late.reason


GRADIENTS = {"x": np.ones((3, 2)), "weights": {"b": np.full(4, 2.0), "a": np.full(3, 5.0)}}
BACKWARD = Expected(PART, gradients=GRADIENTS)


def test_a_backward_is_checked_by_its_gradients():
    assert verdict(BACKWARD, {"gradients": GRADIENTS}, "bwd").passed
    wrong = {**GRADIENTS, "weights": {**GRADIENTS["weights"], "a": np.zeros(3)}}
    judged = verdict(BACKWARD, {"gradients": wrong}, "bwd")
    assert judged.reason.startswith("gradient of weights.a has ")
    assert judged.figures["gradient_relative_rms"] == 1.0


def test_forward_and_backward_are_both_checked():
    both = {"result": PART, "gradients": GRADIENTS}
    judged = verdict(BACKWARD, both, "fwd_bwd")
    assert judged.passed
    assert {"mismatches", "gradient_relative_rms"} <= set(judged.figures)
    assert not verdict(BACKWARD, {**both, "result": PART + 1}, "fwd_bwd").passed
    assert not verdict(BACKWARD, {**both, "gradients": {"x": np.zeros((3, 2))}}, "fwd_bwd").passed


def test_only_gradients_of_shared_inputs_are_checked():
    assert verdict(BACKWARD, {"gradients": {"x": np.ones((3, 2)), "other": np.ones(9)}}, "bwd").passed
    judged = verdict(BACKWARD, {"gradients": {"other": np.ones(9)}}, "bwd")
    assert (judged.passed, "cannot be checked" in judged.reason) == (False, True)
    nothing = Semantics("plain", lambda w, rows: None, exact())
    assert not verdict(BACKWARD, {"gradients": GRADIENTS}, "bwd", nothing).passed


def test_a_cotangent_is_drawn_for_every_floating_leaf():
    expected = Expected({"y": PART, "a": np.ones((2, 3)), "i": np.ones((2, 3), int)}, ROWS, 10)
    seeds = draw_cotangents(expected, np.float32, np.random.default_rng(0))
    assert [(seed.shape, seed.dtype) for seed in seeds] == [((2, 10), np.float32), ((2, 10, 4), np.float32)]
    with pytest.raises(Unsupported, match="no backward"):
        draw_cotangents(Expected(np.ones(3, int)), np.float32, np.random.default_rng(0))


@pytest.mark.parametrize("rows", [None, ROWS])
def test_a_cotangent_is_zero_for_unchecked_elements(rows):
    count = 10 if rows is None else len(rows)
    marks = np.zeros((2, count), bool)
    marks[1, 1] = True
    expected = Expected(np.zeros((2, count, 4)), rows, 10, ambiguous=marks)
    seeds = draw_cotangents(expected, np.float32, np.random.default_rng(0))
    (whole,), (part,) = expected.masked_cotangent(seeds)
    at = np.arange(10) if rows is None else rows
    assert np.array_equal(whole[:, at], part)
    assert not part[1, 1].any()
    assert not np.delete(whole, at, axis=1).any()
    kept = ~marks
    assert np.array_equal(part[kept], seeds[0][:, at][kept])
    assert (part.dtype, whole.dtype) == (np.float64, np.float32)
    assert seeds[0][1, at[1]].all(), "the drawn cotangent is unchanged"


def test_a_contract_may_return_any_number():
    contract = Contract("odd", lambda e: Judgement(np.bool_(True), {"a": np.float32(0.5)}))
    assert verdict(BACKWARD, PART, meaning=Semantics("odd", lambda w, rows: None, contract)).passed
    given = (np.float32(0.5), np.int64(3), np.inf, np.float64("nan"), None, "x")
    assert list(map(plain, given)) == [0.5, 3, "inf", "nan", None, "x"]


@pytest.mark.parametrize(("mode", "handed"), [("fwd", PART), ("bwd", {"gradients": GRADIENTS})])
def test_a_contract_that_returns_a_bool_is_named(mode, handed):
    bare = Contract("mine", lambda evidence: True)
    meaning = Semantics("odd", lambda w, rows: None, bare, gradient=bare)
    with pytest.raises(FamilyFault) as fault:
        verdict(BACKWARD, handed, mode, meaning)
    assert str(fault.value.__cause__) == "it returns bool; return Judgement(passed, figures, reason)"


def test_a_contract_that_raises_for_a_wrong_structure_is_not_a_family_fault():
    def judge(evidence):
        raise KeyError("rows")

    meaning = Semantics("odd", lambda w, rows: None, Contract("mine", judge))
    with pytest.raises(KeyError):
        verdict(BACKWARD, {"other": PART}, "fwd", meaning)
