"""Effects of pairs as dots on one axis: plain characters of a fixed width, legible without colour."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.gate.report.wording import percent

WIDTH = 60
LEAST = 24  # two ends of the axis stand in it
LABELS = 14


@dataclass(frozen=True)
class Strip:
    """One line of the chart: dots for `effects`, or a bar from `low` to `high` about `mean`."""

    label: str
    effects: tuple[float, ...] = ()
    bar: tuple[float, float, float] | None = None  # low, mean, high


def strip_chart(strips: Sequence[Strip], marks: Sequence[tuple[str, float]], width: int = WIDTH) -> list[str]:
    """The strips over one axis on which each mark, a single character, runs through as a line.

    Dots that fall together are counted: `3` stands for three, `+` for more than nine.
    """
    values = [value for _, value in marks]
    values += [value for strip in strips for value in (*strip.effects, *(strip.bar or ()))]
    low, high = min(values), max(values)
    margin = (high - low or 1.0) * 0.03

    def column(value: float) -> int:
        return round((value - low + margin) / (high - low + 2 * margin) * (width - 1))

    lines = [_strip(strip, marks, column, width) for strip in strips]
    axis = ["─"] * width
    for mark, value in marks:
        axis[column(value)] = mark
    left, right = percent(low - margin), percent(high + margin)
    ends = f"{left}{right:>{width - len(left)}}"
    return [*lines, " " * LABELS + "".join(axis), " " * LABELS + ends]


def _strip(
    strip: Strip, marks: Sequence[tuple[str, float]], column: Callable[[float], int], width: int
) -> str:
    line = [" "] * width
    for _, value in marks:
        line[column(value)] = "┊"
    if strip.bar is not None:
        low, mean, high = map(column, strip.bar)
        line[low : high + 1] = "─" * (high + 1 - low)
        line[low], line[high], line[mean] = "├", "┤", "┼"
    for place in sorted({column(effect) for effect in strip.effects}):
        count = sum(column(effect) == place for effect in strip.effects)
        line[place] = "●" if count == 1 else str(count) if count < 10 else "+"
    return f"{strip.label:<{LABELS}}{''.join(line)}".rstrip()
