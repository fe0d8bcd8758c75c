import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from harness import Evidence, recall, within


@dataclass(frozen=True)
class Workload:
    dtype: str = "f32"


def judge(contract, result, expected, **more):
    return contract.judge(Evidence(Workload(), {}, result, expected, **more))


class TestWithin:
    want = np.random.default_rng(5).standard_normal((2, 50, 8))

    @pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
    def test_the_error_is_relative_to_the_whole_part(self, scale):
        """By hand: a factor of 1 + e everywhere is a relative error of e, whatever the scale."""
        want = self.want * scale
        good, bad = (judge(within(rel_rms=0.02), want * (1 + e), want) for e in (0.0199, 0.0201))
        assert (good.passed, good.reason) == (True, "")
        assert good.figures == {"relative_rms": pytest.approx(0.0199), "relative_rms_bound": 0.02}
        assert (bad.passed, bad.reason) == (
            False,
            "result has relative RMS error 2.01e-02; 0.02 is allowed",
        )

    def test_every_part_is_judged(self):
        good, bad = self.want, self.want * 1.5
        verdict = judge(within(rel_rms=0.1), {"a": good, "b": bad}, {"a": good, "b": good})
        assert verdict.reason.startswith("b has relative RMS error 5.00e-01")

    def test_one_element_may_be_far_off(self):
        got = self.want.copy()
        got[0, 0, 0] += 0.01 * np.linalg.norm(self.want)
        assert judge(within(rel_rms=0.02), got, self.want).passed

    @pytest.mark.parametrize("strange", [math.nan, math.inf])
    def test_nonfinite_values_must_match_the_reference(self, strange):
        want, got = self.want.copy(), self.want.copy()
        got[1, 2, 3] = strange
        verdict = judge(within(rel_rms=0.9), got, want)
        differs = f"result[1, 2, 3] is {strange}; the reference has {want[1, 2, 3]}"
        assert verdict.reason == f"{differs}; 1 of {want.size} elements differ like this"
        want[1, 2, 3] = strange
        assert judge(within(rel_rms=1e-9), got, want).passed

    def test_an_error_too_large_to_square_is_too_large(self):
        assert not judge(within(rel_rms=0.5), np.full(3, 1e300), np.full(3, 1e-300)).passed

    def test_a_reference_of_zeros_needs_zeros(self):
        zeros = np.zeros((2, 3))
        assert judge(within(rel_rms=0.1), zeros, zeros).passed
        assert "is 0 in the reference" in judge(within(rel_rms=0.1), zeros + 1e-30, zeros).reason

    def test_narrow_results_are_compared_in_double_precision(self):
        narrow = self.want.astype(ml_dtypes.bfloat16)
        error = np.linalg.norm(narrow.astype(np.float64) - self.want) / np.linalg.norm(self.want)
        verdict = judge(within(rel_rms=0.01), narrow, self.want)
        assert verdict.figures["relative_rms"] == pytest.approx(error)

    def test_ambiguous_elements_are_not_judged(self):
        marks = np.zeros((2, 50), bool)
        marks[0, 7] = True
        got = self.want.copy()
        got[0, 7] = 99
        assert judge(within(rel_rms=1e-6), got, self.want, ambiguous=marks).passed

    def test_other_shapes_fail(self):
        verdict = judge(within(rel_rms=0.1), self.want[:1], self.want)
        assert verdict.reason == "result has shape (1, 50, 8); the reference has (2, 50, 8)"


class TestRecall:
    scores = np.random.default_rng(6).permutation(200).reshape(1, 2, 100).astype(np.float64)
    indices = np.argsort(-scores, axis=-1)[..., :10]

    def selection(self, indices):
        return np.take_along_axis(self.scores, indices, axis=-1), indices

    def share(self, indices, values=None, at_least=0.5):
        own, _ = self.selection(np.maximum(indices, 0))
        result = (own if values is None else values, indices.astype(np.int32))
        return judge(recall(at_least=at_least), result, self.selection(self.indices))

    def test_the_order_of_indices_does_not_matter(self):
        assert self.share(self.indices[..., ::-1], at_least=1).figures["recall"] == 1

    def test_recall_is_the_mean_over_rows(self):
        """By hand: 7 of 10 in one row and 10 of 10 in the other."""
        others = np.argsort(self.scores, axis=-1)[..., :3]
        mixed = self.indices.copy()
        mixed[0, 0, :3] = others[0, 0]
        verdict = self.share(mixed, at_least=0.85)
        assert verdict.passed
        assert verdict.figures == {"recall": pytest.approx(0.85), "worst_row": 0.7, "at_least": 0.85}
        assert self.share(mixed, at_least=0.86).reason == "mean recall 0.8500 is below 0.86"

    def test_an_index_counts_once(self):
        again = np.repeat(self.indices[..., :1], 10, axis=-1)
        assert self.share(again).figures["recall"] == pytest.approx(0.1)

    def test_an_index_counts_only_with_its_value(self):
        values, _ = self.selection(self.indices)
        wrong = values.copy()
        wrong[..., :5] += 1
        assert self.share(self.indices, wrong).figures["recall"] == 0.5
        assert self.share(self.indices, values.astype(ml_dtypes.bfloat16)).passed  # integers up to 200 fit

    def test_empty_places_select_nothing(self):
        want = np.array([[3, 5, -1, -1], [-1, -1, -1, -1]])
        got = np.array([[5, -1, -1, 7], [1, 2, 3, 4]])
        verdict = judge(recall(at_least=0.5), got, want)
        assert (verdict.figures["recall"], verdict.figures["worst_row"]) == (0.75, 0.5)

    def test_ambiguous_rows_have_no_recall(self):
        marks = np.array([[True, False]])
        got = self.indices.copy()
        got[0, 0] = 0
        assert judge(recall(at_least=1), got, self.indices, ambiguous=marks).passed

    def test_a_result_that_is_not_a_selection_fails(self):
        for tree in (self.scores, (self.indices, self.indices), (self.indices, self.scores)):
            assert judge(recall(at_least=0.5), tree, tree).reason.startswith("recall needs one part of")
