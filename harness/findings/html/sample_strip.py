"""All readings of a case as a strip: the time across, the order in which they were taken downwards."""

from harness.core.record import Timing
from harness.core.units import format_seconds
from harness.findings.html.element import Markup, element

WIDTH, HEIGHT, ROOM = 600, 48, 6  # of the strip, in its own units; the room at its edges
LEGEND = "the first on top; line: the median, band: its 95 % interval"


def sample_strip(timing: Timing) -> Markup:
    """A dot per reading, with what the strip spans in words."""
    low, high = min(timing.samples_s), max(timing.samples_s)
    steps = max(len(timing.samples_s) - 1, 1)

    def across(seconds: float) -> float:
        return ROOM + (WIDTH - 2 * ROOM) * ((seconds - low) / (high - low) if high > low else 0.5)

    places = ((across(s), ROOM + (HEIGHT - 2 * ROOM) * n / steps) for n, s in enumerate(timing.samples_s))
    dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
    band = ""
    if timing.low_s is not None and timing.high_s is not None:
        left, right = across(timing.low_s), across(timing.high_s)
        band = element(
            "rect", x=f"{left:.1f}", y="0", width=f"{max(right - left, 1):.1f}", height=str(HEIGHT)
        )
    rounds = len(set(timing.round))
    span = f"{format_seconds(low)} to {format_seconds(high)}"
    says = f"{len(timing.samples_s)} readings in {rounds} rounds, {span}"
    strip = element(
        "svg",
        band,
        element("path", class_="median", d=f"M{across(timing.median_s):.1f} 0v{HEIGHT}"),
        element("path", class_="dots", d=dots),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=says,
    )
    return element("figure", strip, element("figcaption", f"{says}; {LEGEND}"), class_="strip")
