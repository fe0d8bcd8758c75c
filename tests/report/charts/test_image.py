import math
from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

from harness.report.charts.image import to_svg


def draw(level):
    figure = Figure()
    axes = figure.subplots()
    axes.fill_between([0, 1], [0, level])
    axes.plot([0, 1], [0, level], marker="o")
    axes.set_xlim(0, level)
    return to_svg(SimpleNamespace(title="t", notes=()), figure)


def test_the_last_bit_of_a_coordinate_does_not_change_the_svg():
    """Processors with other vector units differ in the last bit of a logarithm."""
    assert draw(1.1) == draw(math.nextafter(1.1, 2))


@pytest.mark.parametrize("shape", [b'clip-path="url(#shape1)"', b'<clipPath id="shape1">'])
def test_shapes_are_numbered_in_order_with_consistent_references(shape):
    assert shape in draw(1.1)
