"""Writes docs/HONESTY.md: the cheats, and what catches each or would catch it.

python -m tests.honesty.page
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.honesty.catalogue import Cheat, cheats, sources

PAGE = Path(__file__).resolve().parents[2] / "docs" / "HONESTY.md"

INTRODUCTION = Path(__file__).with_name("introduction.md").read_text(encoding="utf-8")

SECTIONS = {
    "missed": (
        "Not caught",
        "These cases end as `ok`, with wrong figures or an unfair gain.",
        "what would catch it",
    ),
    "caught": (
        "Caught",
        "These cases end without a time, as `incorrect` or `crashed`, and their reason is printed.",
        "what catches it",
    ),
    "warned": ("Caught with a warning", "These cases have a time and a warning.", "the warning"),
    "harmless": ("Without effect", "These cases are measured correctly and gain nothing.", "why"),
}


def page() -> str:
    everything = cheats()
    parts = {section: [c for c in everything if c.outcome == section] for section in SECTIONS}
    counts = ", ".join(f"{len(part)} {SECTIONS[name][0].lower()}" for name, part in parts.items() if part)
    text = [INTRODUCTION.format(count=len(everything), counts=counts)]
    text += [_section(section, part) for section, part in parts.items() if part]
    return "\n".join([*text, _sources(everything)])


def _section(section: str, part: Sequence[Cheat]) -> str:
    title, sentence, remedy = SECTIONS[section]
    rows = [
        f"| `{c.name}` | {c.description} | {_linked(c.known_from)} | {_capitalised(c.would_catch or c.by)} |"
        for c in part
    ]
    head = [f"## {title}\n", f"{sentence}\n", f"| cheat | what it does | known from | {remedy} |"]
    return "\n".join([*head, "| --- | --- | --- | --- |", *rows, ""])


def _linked(met: str) -> str:
    """Replace every `[source, source]` by links."""

    def links(match: re.Match[str]) -> str:
        keys = match[1].split(", ")
        return ", ".join(f"[{key}]({sources()[key].address})" for key in keys)

    return re.sub(r"\[([^]]+)\]", links, met)


def _capitalised(sentence: str) -> str:
    whole = sentence[0].upper() + sentence[1:]
    return whole if whole.endswith(".") else f"{whole}."


def _sources(everything: Iterable[Cheat]) -> str:
    used = {
        key
        for cheat in everything
        for group in re.findall(r"\[([^]]+)\]", cheat.known_from)
        for key in group.split(", ")
    }
    lines = [
        f"- {key}: [{source.title}]({source.address})" for key, source in sources().items() if key in used
    ]
    return "\n".join(
        ["## Sources\n", "These describe similar cheats. The code here is original.\n", *lines, ""]
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
