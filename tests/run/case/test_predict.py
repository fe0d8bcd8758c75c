"""Predictions on written numbers."""

import dataclasses

import pytest

from harness.core.record import Cost
from harness.core.static_figures import Static
from harness.run.case.predict import STEEPEST, CallPredictor, KnownWork
from tests.run.plans import case

NOTHING = KnownWork()


def predict_from(points, works=None):
    predictor = CallPredictor()
    for seq, seconds in points.items():
        predictor.record(case(seq=seq), seconds, (works or {}).get(seq, NOTHING))
    return predictor


@pytest.mark.parametrize(
    ("points", "seconds", "exponent"),
    [
        ({1024: 1.0, 2048: 2.0}, 4.0, 1.0),
        ({1024: 1.0, 2048: 4.0}, 16.0, 2.0),
        ({1024: 1.0, 2048: 1.0}, 1.0, 0.0),
        ({1024: 2.0, 2048: 1.0}, 1.0, 0.0),  # noise is no negative growth
        ({1024: 1e-6, 2048: 1e-3}, 1e-3 * 2**STEEPEST, STEEPEST),  # nor an absurd one
        ({512: 1.0, 1024: 1.0, 2048: 4.0}, 16.0, 2.0),  # a fixed cost hides growth at first
        ({512: 1.0, 1024: 4.0, 2048: 4.0}, 16.0, 2.0),  # one flat step is noise
        ({256: 1.0, 512: 8.0, 1024: 8.0, 2048: 8.0}, 8.0, 0.0),  # what is long past does not count
    ],
)
def test_growth_from_measured_lengths(points, seconds, exponent):
    predicted = predict_from(points).predict(case(seq=4096), NOTHING)
    assert predicted
    assert predicted.exponent == pytest.approx(exponent)
    assert predicted.seconds == pytest.approx(seconds)


def test_nothing_to_go_on_is_no_prediction():
    assert CallPredictor().predict(case(seq=4096), NOTHING) is None
    assert predict_from({1024: 9.0}).predict(case(seq=4096), KnownWork(formula=5.0)) is None
    assert predict_from({8192: 9.0, 16384: 20.0}).predict(case(seq=4096), NOTHING) is None
    assert predict_from({1024: 9.0}).over_budget(case(seq=4096), NOTHING, 1.0) is None


@pytest.mark.parametrize(
    ("before", "now", "seconds", "basis"),
    [
        ((10, "compiled", None), (160, "compiled", None), 16.0, "compiled"),
        ((10, "compiled", 5), (160, "compiled", 10), 16.0, "compiled"),
        ((10, "compiled", 5), (160, "matmul_only", 20), 4.0, "analytic"),
        ((None, None, 5), (None, None, 20), 4.0, "analytic"),
        ((0, "compiled", 5), (0, "compiled", 20), 4.0, "analytic"),
        ((None, None, 20), (None, None, 5), 1.0, "analytic"),
    ],
)
def test_growth_from_the_work_after_one_length(before, now, seconds, basis):
    predicted = predict_from({1024: 1.0}, {1024: KnownWork(*before)}).predict(case(seq=4096), KnownWork(*now))
    assert predicted
    assert predicted.seconds == pytest.approx(seconds)
    assert predicted.basis == f"{basis} FLOPs and seq 1Ki"


def test_work_is_read_from_static_figures_and_formula():
    static = dataclasses.replace(Static.none("none"), flops=8.0, flops_source="compiled")
    assert KnownWork.of(static, Cost(flops=5.0)) == KnownWork(8.0, "compiled", 5.0)
    assert KnownWork.of(None, Cost(flops=5.0)) == KnownWork(None, None, 5.0)


def test_many_lengths_are_not_all_remembered():
    predictor = predict_from({seq: float(seq) for seq in range(1, 100)})
    assert [len(lengths) for lengths in predictor.calls.values()] == [4]
    predicted = predictor.predict(case(seq=99), NOTHING)
    assert predicted
    assert (predicted.seconds, predicted.exponent) == (pytest.approx(99), pytest.approx(1))


def test_other_series_say_nothing():
    predictor = predict_from({1024: 1.0, 2048: 2.0})
    assert predictor.predict(case("broadcast", seq=4096), NOTHING) is None
    assert predictor.predict(case(seq=4096, mode="fwd_bwd"), NOTHING) is None


def test_the_shortest_failure_counts():
    predictor = CallPredictor()
    predictor.record_failure(case(seq=4096), "timeout")
    predictor.record_failure(case(seq=2048), "oom")
    predictor.record_failure(case(seq=8192), "oom")
    assert predictor.inferred_skip(case(seq=2048)) is None
    assert "oom at seq 2Ki" in (predictor.inferred_skip(case(seq=4096)) or "")
    assert predictor.inferred_skip(case("broadcast", seq=4096)) is None
