from dataclasses import dataclass

import numpy as np
import pytest

from harness import Evidence, tolerance

BOUND = 1e-3


@dataclass(frozen=True)
class Workload:
    dtype: str = "f32"


def evidence(result, expected, **more):
    return Evidence(Workload(), {}, result, expected, **more)


def close(result, expected, *, cancelling=False, **more):
    return tolerance({"f32": BOUND}, cancelling=cancelling).judge(evidence(result, expected, **more))


def grid(*shape):
    return np.random.default_rng(7).standard_normal(shape)


def with_value(array, at, value):
    array = array.copy()
    array[at] = value
    return array


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
        assert "; 1e-03 is allowed; " in verdict.reason

    def test_a_wrong_mean_names_the_count_and_the_first_place(self):
        want = np.ones((2, 3, 4))
        got = with_value(with_value(want, (1, 2, 0), 2.0), (1, 2, 3), 0.5)
        assert close(got, want, rows=np.array([0, 4, 9])).reason.endswith(
            "2 of 24 elements exceed it, first result[1, 9, 0], which is 2.0; the reference has 1.0"
        )

    def test_for_cancelling_gradients_the_worst_element_is_named(self):
        want = with_value(np.zeros((50, 100)), 0, 1.0)
        got = with_value(want + 0.9 * BOUND, (3, 7), 0.95 * BOUND)
        assert close(got, want, cancelling=True).reason.endswith(
            f"1 of 5000 elements exceed it, first result[3, 7], which is {0.95 * BOUND}; "
            "the reference has 0.0"
        )

    def test_one_wrong_element_is_found_although_the_mean_is_fine(self):
        want = grid(64, 256)
        verdict = close(with_value(want, (5, 7), want[5, 7] + 0.05), want)
        assert verdict.figures["relative_rms"] < BOUND
        assert not verdict.passed
        assert verdict.reason.startswith("result[5, 7] has ")
        assert verdict.reason.endswith(
            "; 1 of 16384 elements exceed it, first result[5, 7], "
            f"which is {want[5, 7] + 0.05}; the reference has {want[5, 7]}"
        )

    def test_its_place_is_that_in_the_whole_result(self):
        want = grid(1, 3, 256)
        got = with_value(want, (0, 2, 9), want[0, 2, 9] + 0.01)
        assert close(got, want, rows=np.array([0, 40, 99])).reason.startswith("result[0, 99, 9] has ")

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_nan_and_inf_fail(self, value):
        want = grid(4, 4)
        verdict = close(with_value(want, (1, 2), value), want)
        assert not verdict.passed
        assert verdict.reason.startswith(f"result[1, 2] is {value}; the reference has")
        assert verdict.reason.endswith("; 1 of 16 elements differ like this")

    def test_nan_and_inf_of_the_reference_pass(self):
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
