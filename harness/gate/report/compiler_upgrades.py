"""Upgrades of compilers in words: a sentence each, a line per case that changed, and the text of an issue."""

import shlex
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from harness.core.shown_text import escape_markdown
from harness.gate.report.case_names import name_of
from harness.gate.static.compiler_versions import CompiledChange, Upgrade
from harness.gate.static.diff import SAME_FIGURES
from harness.report.templates import markdown_code, markdown_table

MOST_CHARACTERS = 60_000  # of an issue's tables


def sentence(upgrade: Upgrade) -> str:
    """`2 of 24 compiled cases changed from jaxlib 0.9.0 to 0.10.2: 2 regressed.`, and the most that grew."""
    named = ", ".join(
        f"{name} {old or 'none'} to {new or 'none'}" for name, (old, new) in upgrade.versions.items()
    )
    changed, cases = upgrade.changed, upgrade.cases
    if not cases:
        return "Nothing was compiled under either, or it is refused by both: name other suites or lengths."
    between = f" from {named}" if named else ", and no version differs"
    programs = sum(case.reason == SAME_FIGURES for case in cases)
    also = f"; {programs} have {SAME_FIGURES}" if programs else ""
    if not changed:
        return f"None of {len(cases)} compiled cases changed{between}{also}."
    counts = Counter(case.verdict for case in changed).most_common()
    parts = ", ".join(f"{count} {verdict}" for verdict, count in counts)
    most = changed[0]
    largest = f" The largest increase: {name_of(most.case).short} for {most.target}, {most.increase}."
    return (
        f"{len(changed)} of {len(cases)} compiled cases changed{between}: {parts}{also}."
        f"{largest if most.increase else ''}"
    )


def change_lines(upgrade: Upgrade) -> list[str]:
    """The cases that changed, a line each, with notes below it."""
    lines: list[str] = []
    for case in upgrade.changed:
        lines.append(f"{case.verdict}: {case.case} for {case.target}: {case.reason}")
        lines += [f"  {note}" for note in case.notes]
    return lines


def issue_text(upgrades: Sequence[Upgrade], command: Sequence[str]) -> str:
    """The text of an issue in Markdown: of each upgrade its sentence, as a heading, and what changed.

    The last line has the command that repeats it. GitHub takes 65 536 characters, so rows beyond 60 000
    are only counted.
    """
    parts: list[str] = []
    for upgrade in upgrades:
        rows = [_row(case) for case in upgrade.changed]
        ends = list(accumulate(len(" | ".join(row)) + 5 for row in rows))  # with what ends a line
        fitting = bisect_right(ends, MOST_CHARACTERS // len(upgrades))
        parts.append(f"# {escape_markdown(sentence(upgrade))}")
        if rows:
            parts.append(markdown_table(["case", "target", "verdict", "what changed"], rows[:fitting]))
        if rows[fitting:]:
            parts.append(f"And {len(rows) - fitting} more, which the command lists.")
    return "\n\n".join([*parts, f"To repeat it: {markdown_code(shlex.join(command))}"]) + "\n"


def _row(case: CompiledChange) -> list[str]:
    changes = "<br>".join(map(escape_markdown, (case.reason, *case.notes)))
    return [markdown_code(case.case), case.target, case.verdict, changes]
