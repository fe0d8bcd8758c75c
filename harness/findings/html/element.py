"""Elements of HTML whose texts and attributes are cleaned and escaped, whatever a record says."""

from collections.abc import Iterable

from harness.core.shown_text import escape_html


class Markup(str):
    """What is HTML already; any other string is a text."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | None) -> Markup:
    """`<name key="value">children</name>`; a value that is None is left out, `class_` is `class`."""
    given = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape_html(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(children: Iterable[str], between: str = "") -> Markup:
    """Elements and texts one after the other, without empty ones."""
    shown = (child if isinstance(child, Markup) else escape_html(child) for child in children if child)
    return Markup(between.join(shown))


def bullets(lines: Iterable[str]) -> Markup:
    """A list; nothing where it has no line."""
    items = join(element("li", line) for line in lines)
    return element("ul", items) if items else items


def fold(summary: str, *children: str, class_: str | None = None) -> Markup:
    """What shows when its summary is asked for."""
    return element("details", element("summary", summary), *children, class_=class_)
