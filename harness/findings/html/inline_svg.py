"""A chart's SVG inside of a page."""

import re

from harness.core.shown_text import escape_html

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
