"""Panels in rows of equal size: where each lies, its heading, and which of its labels are written."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from harness.report.charts.drawing.style import BODY, ROOM, wrap

HEIGHTS = {1: 3.2, 2: 2.7, 3: 2.1}  # columns → height of a panel with its axes, in inches


def columns_for(panels: int) -> int:
    return {1: 1, 2: 2, 4: 2}.get(panels, 3)


def panel_grid(
    body: SubFigure,
    titles: Sequence[str],
    x_label: str,
    y_label: str,
    *,
    height: float | None = None,
    strip: float = 0.0,
    share_x: bool = True,
) -> tuple[list[list[Axes]], float]:
    """The axes of each panel, with those of a `strip` below it, and the height of all in inches.

    Values are named at the left of a row, and lengths below a column, or with axes of their own everywhere.
    """
    columns = columns_for(len(titles))
    rows = math.ceil(len(titles) / columns)
    parts = [height or HEIGHTS[columns], *([strip] if strip else [])]
    ratios = parts * rows
    grid = body.subplots(
        len(ratios), columns, sharex=share_x, squeeze=False, gridspec_kw={"height_ratios": ratios}
    )
    places = grid.reshape(rows, len(parts), columns).swapaxes(1, 2).reshape(-1, len(parts))
    for spare in places[len(titles) :].flat:
        spare.set_axis_off()
    for place, (title, own) in enumerate(zip(titles, places, strict=False)):
        heading = wrap(title, (ROOM - 1) / columns - 0.1, BODY, "bold")
        own[0].set_title(heading, loc="left", size=BODY, weight="bold")
        own[0].tick_params(axis="y", labelleft=place % columns == 0)
        if place % columns == 0:
            own[0].set_ylabel(y_label, size=BODY, labelpad=10)
        lowest = not share_x or place + columns >= len(titles)
        for axes in own:
            axes.tick_params(axis="x", labelbottom=lowest and axes is own[-1])
        if lowest:
            own[-1].set_xlabel(x_label, size=BODY)
    return places[: len(titles)].tolist(), sum(ratios)
