from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from harness import Evidence, Judgement, exact, leaves, tolerance
from harness.catalog.contract import require_judgement
from harness.core.errors import UsageError

BOUND = 1e-3


@dataclass(frozen=True)
class Workload:
    dtype: str = "f32"


def evidence(result, expected, **more):
    return Evidence(Workload(), {}, result, expected, **more)


def close(result, expected, *, cancelling=False, **more):
    return tolerance({"f32": BOUND}, cancelling=cancelling).judge(evidence(result, expected, **more))


def same(result, expected, **more):
    return exact().judge(evidence(result, expected, **more))


def grid(*shape):
    return np.random.default_rng(7).standard_normal(shape)


def with_value(array, at, value):
    array = array.copy()
    array[at] = value
    return array


class TestExact:
    def test_equal_arrays_pass_whatever_their_width(self):
        want = np.arange(12.0).reshape(3, 4)
        for dtype in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16):
            verdict = same(want.astype(dtype), want)
            assert (verdict.passed, verdict.figures, verdict.reason) == (True, {"mismatches": 0}, "")

    def test_one_wrong_element_is_found_and_named(self):
        verdict = same(with_value(np.zeros((2, 3)), (1, 2), 0.5), np.zeros((2, 3)))
        assert not verdict.passed
        assert verdict.figures == {"mismatches": 1}
        assert verdict.reason == "1 elements differ; result[1, 2] is 0.5; the reference has 0.0"

    def test_its_place_is_that_in_the_whole_result(self):
        want = np.zeros((1, 3, 2), int)
        verdict = same(with_value(want, (0, 1, 0), 9), want, rows=np.array([0, 40, 99]))
        assert "result[0, 40, 0] is 9" in verdict.reason

    def test_no_number_equals_no_number_and_nothing_else(self):
        nan = np.array([np.nan, 1.0])
        assert same(nan, nan).passed
        assert not same(np.array([np.nan, np.nan]), nan).passed
        assert not same(np.array([0.0, 1.0]), nan).passed
        assert same(np.array([-np.inf]), np.array([-np.inf])).passed

    def test_negative_zero_is_zero(self):
        assert same(np.array([-0.0]), np.array([0.0])).passed

    def test_ambiguous_rows_are_not_judged(self):
        want = np.zeros((1, 3, 4))
        got = with_value(want, (0, 1), 1.0)
        marks = np.array([[False, True, False]])
        verdict = same(got, want, ambiguous=marks)
        assert (verdict.passed, verdict.figures) == (True, {"mismatches": 0, "ambiguous": 1})
        assert not same(got, want, ambiguous=~marks).passed

    def test_conventions_are_normalised_on_both_sides(self):
        judge = exact(lambda tree: np.sort(tree, -1)).judge
        assert judge(evidence(np.array([3, 1, 2]), np.array([1, 2, 3]))).passed
        assert not judge(evidence(np.array([3, 1, 1]), np.array([1, 2, 3]))).passed

    def test_empty_arrays_are_equal(self):
        assert same(np.zeros((0, 3)), np.zeros((0, 3))).passed
        assert same(np.float64(2), np.float64(2)).passed


class TestForm:
    @pytest.mark.parametrize("judge", [same, close])
    @pytest.mark.parametrize(
        ("result", "says"),
        [
            ((np.zeros(3),), "has parts [0]; the reference has [0], [1]"),
            (np.zeros(3), "has parts result"),
            ({"a": np.zeros(3), "b": np.zeros(3)}, "has parts a, b"),
            ((np.zeros(3), np.zeros((3, 1))), "[1] has shape (3, 1); the reference has (3,)"),
            ((np.zeros(3), np.zeros(3, int)), "[1] has dtype int64; the reference is floating"),
            ((np.zeros(3, bool), np.zeros(3)), "[0] has dtype bool; the reference is floating"),
            ((np.zeros(3), np.zeros(3, complex)), "[1] has dtype complex128; the reference is floating"),
        ],
    )
    def test_another_form_fails_in_words(self, judge, result, says):
        verdict = judge(result, (np.zeros(3), np.zeros(3)))
        assert not verdict.passed
        assert says in verdict.reason

    @pytest.mark.parametrize("judge", [same, close])
    def test_another_shape_is_named_beside_the_layout(self, judge):
        verdict = judge(np.zeros((1, 2, 8, 4)), np.zeros((1, 8, 2, 4)), layout="[B, T, H, D]")
        says = "result has shape (1, 2, 8, 4); the reference has (1, 8, 2, 4), laid out [B, T, H, D]"
        assert verdict.reason == says

    @pytest.mark.parametrize("judge", [same, close])
    def test_where_nothing_can_be_judged_nothing_passes(self, judge):
        want = np.ones((2, 3))
        verdict = judge(want, want, ambiguous=np.array([True, True]))
        assert not verdict.passed
        assert "nothing can be judged" in verdict.reason

    def test_trees_are_walked_by_path(self):
        tree = {"b": (1, [2, 3]), "a": 4}
        assert list(leaves(tree)) == [("a", 4), ("b[0]", 1), ("b[1][0]", 2), ("b[1][1]", 3)]


class TestTolerance:
    def test_errors_of_the_allowed_size_pass(self):
        want = grid(64, 256)
        row = np.sqrt(np.mean(want**2, -1, keepdims=True))
        verdict = close(want + 0.95 * BOUND * row * grid(64, 256), want)
        assert verdict.passed
        assert 0.9 * BOUND < verdict.figures["relative_rms"] < BOUND
        assert verdict.figures["relative_rms_bound"] == BOUND

    def test_errors_twice_as_large_do_not(self):
        want = grid(64, 256)
        verdict = close(want + 2 * BOUND * grid(64, 256), want)
        assert not verdict.passed
        assert "relative RMS; 1e-03 is allowed; so far off: " in verdict.reason

    def test_a_wrong_mean_says_how_many_are_wrong_and_where_first(self):
        want = np.ones((2, 3, 4))
        got = with_value(with_value(want, (1, 2, 0), 2.0), (1, 2, 3), 0.5)
        assert close(got, want, rows=np.array([0, 4, 9])).reason.endswith(
            "so far off: 2 of 24 elements, the first result[1, 9, 0], which is 2.0; the reference has 1.0"
        )

    def test_where_gradients_cancel_the_worst_one_is_named(self):
        want = with_value(np.zeros((50, 100)), 0, 1.0)
        got = with_value(want + 0.9 * BOUND, (3, 7), 0.95 * BOUND)
        assert close(got, want, cancelling=True).reason.endswith(
            f"so far off: 1 of 5000 elements, the first result[3, 7], which is {0.95 * BOUND}; "
            "the reference has 0.0"
        )

    def test_one_element_far_off_is_found_though_the_mean_is_fine(self):
        want = grid(64, 256)
        verdict = close(with_value(want, (5, 7), want[5, 7] + 0.05), want)
        assert verdict.figures["relative_rms"] < BOUND
        assert not verdict.passed
        assert verdict.reason.startswith("result[5, 7] is off by")
        assert verdict.reason.endswith(
            "; so far off: 1 of 16384 elements, the first result[5, 7], "
            f"which is {want[5, 7] + 0.05}; the reference has {want[5, 7]}"
        )

    def test_its_place_is_that_in_the_whole_result(self):
        want = grid(1, 3, 256)
        got = with_value(want, (0, 2, 9), want[0, 2, 9] + 0.01)
        assert close(got, want, rows=np.array([0, 40, 99])).reason.startswith("result[0, 99, 9] is off")

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_what_is_no_number_fails(self, value):
        want = grid(4, 4)
        verdict = close(with_value(want, (1, 2), value), want)
        assert not verdict.passed
        assert verdict.reason.startswith(f"result[1, 2] is {value}; the reference has")
        assert verdict.reason.endswith("; so differ 1 of 16 elements")

    def test_unless_the_reference_has_the_same(self):
        want = with_value(with_value(grid(4, 4), (1, 2), -np.inf), (3, 3), np.nan)
        assert close(want, want).passed
        assert not close(with_value(want, (1, 2), np.inf), want).passed
        assert not close(with_value(want, (1, 2), 0.0), want).passed
        assert not close(with_value(want, (3, 3), 0.0), want).passed

    def test_an_error_too_large_to_square_fails_quietly(self):
        want = grid(4, 4)
        verdict = close(with_value(want, (0, 0), 1e300), want)
        assert (verdict.passed, verdict.figures["relative_rms"]) == (False, np.inf)

    def test_a_row_of_zeros_must_be_zero(self):
        want = with_value(grid(8, 16), 3, 0.0)
        assert close(want, want).passed
        verdict = close(with_value(want, (3, 0), 1e-12), want)
        assert (verdict.passed, verdict.figures["largest_error_of_allowed"]) == (False, np.inf)
        assert not close(np.full((2, 2), 1e-9), np.zeros((2, 2))).passed
        assert close(np.zeros((2, 2)), np.zeros((2, 2))).passed

    def test_gradients_may_cancel(self):
        want = with_value(grid(8, 16), 3, 0.0)
        got = with_value(want, (3, 0), 1e-4)
        assert close(got, want, cancelling=True).passed
        assert not close(with_value(want, (3, 0), 1.0), want, cancelling=True).passed

    def test_ambiguous_rows_are_not_judged(self):
        want = grid(1, 8, 16)
        marks = np.zeros((1, 8), bool)
        marks[0, 2] = True
        got = with_value(want, (0, 2), 100.0)
        verdict = close(got, want, ambiguous=marks)
        assert verdict.passed
        assert (verdict.figures["relative_rms"], verdict.figures["ambiguous"]) == (0.0, 1)
        assert close(with_value(want, (0, 2), np.nan), want, ambiguous=marks).passed
        assert not close(with_value(got, (0, 3, 1), 5.0), want, ambiguous=marks).passed

    def test_complex_results_are_judged_by_their_modulus(self):
        want = grid(4, 8) + 1j * grid(4, 8)
        assert close(want * np.exp(1e-4j), want).passed
        assert not close(want.conj(), want).passed

    def test_every_part_counts(self):
        want = (grid(4, 8), grid(4, 8))
        assert close(want, want).passed
        assert not close((want[0], want[1] + 1), want).passed


def test_what_is_no_verdict_is_refused_where_it_is_made():
    with pytest.raises(UsageError, match=r"Judgement: its passed is array\(\[ True, False\]\); use bool"):
        Judgement(np.array([True, False]))


def test_a_truth_of_numpys_is_a_verdict():
    assert require_judgement(Judgement(np.bool_(True))).passed


def test_a_bare_truth_is_no_judgement():
    with pytest.raises(TypeError, match=r"it returns bool; return Judgement\(passed, figures, reason\)"):
        require_judgement(True)
