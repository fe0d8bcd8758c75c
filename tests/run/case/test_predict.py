"""Predictions on written numbers."""

import pytest

from harness.run.case.predict import STEEPEST, CallPredictor
from tests.run.plans import case


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
    predictor = CallPredictor()
    for seq, measured in points.items():
        predictor.record(case(seq=seq), measured)
    predicted = predictor.predict(case(seq=4096))
    assert predicted
    assert predicted.exponent == pytest.approx(exponent)
    assert predicted.seconds == pytest.approx(seconds)
