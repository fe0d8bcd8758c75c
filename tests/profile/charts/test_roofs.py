import pytest
from matplotlib.figure import Figure

from harness.profile.charts.roofs import BYTES, FLOPS, Roof, RooflineChart, RoofPanel, RoofPoint
from harness.report.charts.drawing.style import looks


def test_roofs_end_where_they_meet():
    """A level roof starts at the steepest rising one; a rising roof ends at the highest level."""
    roofs = (
        Roof("f32", 400, FLOPS),
        Roof("bf16", 800, FLOPS),
        Roof("DRAM", 10, BYTES),
        Roof("L2", 40, BYTES),
    )
    body = Figure().subfigures()
    panel = RoofPanel("", roofs, (RoofPoint("a", 5, 50, None, None),))
    RooflineChart((panel,), looks(["a"], ""), question="", notes=()).draw(body)
    (axes,) = body.axes
    left, right = 5 / 8, 8 * 800 / 10  # around the point and the furthest ridge
    assert axes.get_xlim() == pytest.approx((left, right))
    drawn = [tuple(map(tuple, line.get_data())) for line in axes.lines[: len(roofs)]]
    assert drawn == [
        ((400 / 40, right), (400, 400)),
        ((800 / 40, right), (800, 800)),
        ((left, 800 / 10), (10 * left, 800)),
        ((left, 800 / 40), (40 * left, 800)),
    ]
