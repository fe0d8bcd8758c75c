"""Text broken into lines by the number of its characters."""

import textwrap

POINTS = 72  # to the inch
BODY = 8.5  # points
# Inches. One width for all pages, so that text is as large in each of them when they are scaled to a column.
WIDTH = 8.0
ROOM = 0.94 * WIDTH  # for text
# The width of a character over the font's size. DejaVu Sans has 0.52 on average and 0.58 in bold, and more
# where fields are listed (`=` and `·` are wide); where a reader's font is wider, lines have 15 % to grow.
EM = {"normal": 0.64, "bold": 0.7}


def wrap(text: str, inches: float, size: float, weight: str = "normal") -> str:
    """Lines that fit into so many inches in any usual font."""
    characters = int(inches * POINTS / (size * EM[weight]))
    return textwrap.fill(text, characters, break_on_hyphens=False)
