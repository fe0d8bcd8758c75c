"""Checks that texts of a figure do not overlap and are not cut off, also in a wider font."""

from itertools import combinations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox

SLACK = 0.15  # a reader's font may be so much wider


def widened(text: Text, box: Bbox) -> Bbox:
    """The extent of the text in a wider font, which grows away from its anchor."""
    more = SLACK * (box.height if text.get_rotation() else box.width)
    if text.get_rotation():
        return Bbox.from_extents(box.x0, box.y0 - more / 2, box.x1, box.y1 + more / 2)
    left, right = {"left": (0, 1), "right": (1, 0), "center": (0.5, 0.5)}[text.get_ha()]
    return Bbox.from_extents(box.x0 - left * more, box.y0, box.x1 + right * more, box.y1)


def assert_legible(figure, page):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    boxes = [(t.get_text(), widened(t, Text.get_window_extent(t))) for t in texts]
    width, height = canvas.get_width_height()
    for words, box in boxes:
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
        assert inside, f"{page}: {words!r} leaves the page"
    for (words, box), (other, second) in combinations(boxes, 2):
        assert not box.overlaps(second), f"{page}: {words!r} lies on {other!r}"
