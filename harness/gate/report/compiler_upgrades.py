"""Upgrades of compilers in words: a sentence each, a line per case that changed, and the text of an issue."""

import shlex
from collections import Counter
from collections.abc import Sequence

from harness.core.shown_text import escape_markdown
from harness.gate.static.compiler_versions import Upgrade
from harness.gate.static.diff import SAME_FIGURES
from harness.report.templates import markdown_code, markdown_table


def sentence(upgrade: Upgrade) -> str:
    """`2 of 24 cases changed from jaxlib 0.9.0 to 0.10.2: 1 regressed, 1 improved; 5 programs differ.`"""
    named = ", ".join(
        f"{name} {old or 'none'} to {new or 'none'}" for name, (old, new) in upgrade.versions.items()
    )
    if not upgrade.cases:
        return "Nothing was compiled under either, or it is refused by both: name other suites or lengths."
    between = f" from {named}" if named else ", and no version differs"
    counts = Counter(case.verdict for case in upgrade.changed)
    programs = sum(case.reason == SAME_FIGURES for case in upgrade.cases)
    parts = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    also = f"; {programs} have {SAME_FIGURES}" if programs else ""
    if not counts:
        return f"None of {len(upgrade.cases)} compiled cases changed{between}{also}."
    return f"{len(upgrade.changed)} of {len(upgrade.cases)} compiled cases changed{between}: {parts}{also}."


def change_lines(upgrade: Upgrade) -> list[str]:
    """The cases that changed, a line each, with notes below it."""
    lines: list[str] = []
    for case in upgrade.changed:
        lines.append(f"{case.verdict}: {case.case} for {case.target}: {case.reason}")
        lines += [f"  {note}" for note in case.notes]
    return lines


def issue_text(upgrades: Sequence[Upgrade], command: Sequence[str]) -> str:
    """The text of an issue in Markdown: of each upgrade its sentence, as a heading, and what changed.

    The last line has the command that repeats it.
    """
    parts: list[str] = []
    for upgrade in upgrades:
        rows = [
            [
                markdown_code(case.case),
                case.target,
                case.verdict,
                "<br>".join(map(escape_markdown, (case.reason, *case.notes))),
            ]
            for case in upgrade.changed
        ]
        parts.append(f"# {escape_markdown(sentence(upgrade))}")
        if rows:
            parts.append(markdown_table(["case", "target", "verdict", "what changed"], rows))
    return "\n\n".join([*parts, f"To repeat it: {markdown_code(shlex.join(command))}"]) + "\n"
