"""docs/HONESTY.md: cheats that were tried, and what catches each or would.

python -m tests.honesty.page     write it
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
        "These come through as `ok`, with figures that are not theirs or with a gain that nobody else has.",
        "what it would take",
    ),
    "caught": (
        "Caught",
        "Their cases end without a time, as `incorrect` or `crashed`, with a sentence that says why.",
        "what catches it",
    ),
    "told": ("Told", "Measured, with what is the matter standing beside the figures.", "where it is told"),
    "harmless": ("Without effect", "Measured rightly: there is nothing to gain.", "why"),
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
        f"| `{cheat.name}` | {cheat.does} | {_linked(cheat.met)} | {_capitalised(cheat.takes or cheat.by)} |"
        for cheat in part
    ]
    head = [f"## {title}\n", f"{sentence}\n", f"| cheat | what it does | where it is met | {remedy} |"]
    return "\n".join([*head, "| --- | --- | --- | --- |", *rows, ""])


def _linked(met: str) -> str:
    """The sentence with every `[source, source]` as links."""

    def links(match: re.Match[str]) -> str:
        keys = match[1].split(", ")
        return "(" + ", ".join(f"[{key}]({sources()[key].address})" for key in keys) + ")"

    return re.sub(r"\[([^]]+)\]", links, met)


def _capitalised(sentence: str) -> str:
    whole = sentence[0].upper() + sentence[1:]
    return whole if whole.endswith(".") else f"{whole}."


def _sources(everything: Iterable[Cheat]) -> str:
    used = {
        key
        for cheat in everything
        for group in re.findall(r"\[([^]]+)\]", cheat.met)
        for key in group.split(", ")
    }
    lines = [
        f"- {key}: [{source.title}]({source.address})" for key, source in sources().items() if key in used
    ]
    return "\n".join(
        ["## Sources\n", "Where cheats of this kind are described; the code here is its own.\n", *lines, ""]
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
