"""How much room text takes, known before anything is drawn; inches in, inches out."""

import re
from functools import lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

FONT = "DejaVu Sans"  # matplotlib brings it, so text is as wide on every machine
POINTS = 72  # to the inch
LEADING = 1.35  # line height over font size


@lru_cache(maxsize=4096)
def width(text: str, size: float, weight: str = "normal") -> float:
    font = FontProperties(family=FONT, size=size, weight=weight)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / POINTS


def height(lines: int, size: float) -> float:
    return lines * size * LEADING / POINTS


def wrap(text: str, room: float, size: float, weight: str = "normal") -> list[str]:
    """Lines no wider than `room`: broken at blanks, else behind commas, else anywhere."""
    lines = [""]
    for piece in _pieces(text, room, size, weight):
        if lines[-1] and width((lines[-1] + piece).rstrip(), size, weight) > room:
            lines.append("")
        lines[-1] += piece.lstrip() if not lines[-1] else piece
    return [line.rstrip() for line in lines]


def _pieces(text: str, room: float, size: float, weight: str) -> list[str]:
    pieces: list[str] = []
    for word in re.findall(r"\S+\s*|\s+", text):
        parts = [word] if width(word.rstrip(), size, weight) <= room else re.split(r"(?<=[,/\[])", word)
        for part in parts:
            pieces += [part] if width(part.rstrip(), size, weight) <= room else list(part)
    return pieces
