"""SVG inside of a page: its charts, and all readings of a case as a strip."""

import re

from harness.core.record import Timing
from harness.core.shown_text import escape_html
from harness.core.units import format_seconds

_REFERENCE = re.compile(r'(url\(#|href="#)([^)"]+)')


def inline_svg(svg: bytes, says: str, prefix: str) -> str:
    """The element alone, with a text for those who do not see it.

    Of its ids only those that it refers to stay, and begin with `prefix`: a page has several charts.
    """
    text = svg.decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    used = {match[2] for match in _REFERENCE.finditer(text)}

    def rename(match: re.Match[str]) -> str:
        return f' id="{prefix}{match[1]}"' if match[1] in used else ""

    text = _REFERENCE.sub(rf"\g<1>{prefix}\g<2>", re.sub(r' id="([^"]+)"', rename, text))
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape_html(says)}" ', 1)


WIDTH, HEIGHT, ROOM = 600, 48, 6  # of the strip, in its own units; the room at its edges
LEGEND = "the first on top; line: the median, band: its 95 % interval"


def sample_strip(timing: Timing) -> str:
    """A dot per reading, the time across and in order downwards, and what it spans in words.

    All of it are numbers: nothing to escape.
    """
    low, high = min(timing.samples_s), max(timing.samples_s)
    steps = max(len(timing.samples_s) - 1, 1)

    def across(seconds: float) -> float:
        return ROOM + (WIDTH - 2 * ROOM) * ((seconds - low) / (high - low) if high > low else 0.5)

    places = ((across(s), ROOM + (HEIGHT - 2 * ROOM) * n / steps) for n, s in enumerate(timing.samples_s))
    dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
    band = ""
    if timing.low_s is not None and timing.high_s is not None:
        left, right = across(timing.low_s), across(timing.high_s)
        width = max(right - left, 1)
        band = f'<rect x="{left:.1f}" y="0" width="{width:.1f}" height="{HEIGHT}"></rect>'
    median = f'<path class="median" d="M{across(timing.median_s):.1f} 0v{HEIGHT}"></path>'
    span = f"{format_seconds(low)} to {format_seconds(high)}"
    says = f"{len(timing.samples_s)} readings in {len(set(timing.round))} rounds, {span}"
    head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{says}">'
    return (
        f'<figure class="strip">{head}{band}{median}<path class="dots" d="{dots}"></path></svg>'
        f"<figcaption>{says}; {LEGEND}</figcaption></figure>"
    )
