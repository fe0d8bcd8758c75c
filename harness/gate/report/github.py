"""A gate on GitHub: annotations at the lines of implementations, and a summary of the job.

GitHub shows ten annotations of a level per step and drops the rest in silence, so the tenth says
here how many there are.
"""

from collections.abc import Sequence
from pathlib import Path

from harness.core.shown_text import clean_line, clean_text, escape_markdown
from harness.core.units import format_count
from harness.gate.outcome import IMPROVED, STATIC, UNCHANGED, WEIGHT, CaseVerdict, GateOutcome
from harness.gate.report import wording
from harness.gate.report.case_names import Name, by_family, distinction, heading, name_of
from harness.gate.report.presentation import LEVELS, PRESENTATIONS

SHOWN = 10


def annotations(outcome: GateOutcome, root: str = "") -> list[str]:
    """Workflow commands to print. `root` is the checkout; files are named from there."""
    if outcome.broken:
        return [_command("error", outcome.broken, title="gate: a side does not load")]
    levels = {verdict: shown.level for verdict, shown in PRESENTATIONS.items()}
    if outcome.self_check:
        levels[IMPROVED] = "error"  # between equal sides it is as wrong as regressed
    cases = sorted(outcome.cases, key=lambda case: WEIGHT.index(case.verdict))
    lines: list[str] = []
    for level in LEVELS:
        lines += _level_lines(level, [case for case in cases if levels[case.verdict] == level], root)
    return lines


def _level_lines(level: str, cases: Sequence[CaseVerdict], root: str) -> list[str]:
    if len(cases) <= SHOWN:
        return [_annotation(level, case, root) for case in cases]
    shown, rest = cases[: SHOWN - 1], cases[SHOWN - 1 :]
    more = f"and {len(rest)} more: {wording.counts(rest)}; the job summary lists them"
    return [*(_annotation(level, case, root) for case in shown), _command(level, more, title="gate")]


def _annotation(level: str, case: CaseVerdict, root: str) -> str:
    measured = f" ({wording.change(case)} {wording.interval(case)})" if case.effect is not None else ""
    message = "\n".join([f"{case.case}{measured}", case.reason, *case.notes])
    title = f"{wording.in_words(case.verdict)}: {name_of(case.case).short}"
    file = _relative(case.file, root)
    place = {"file": file} if file else {}
    if file and case.line:
        place["line"] = str(case.line)
    return _command(level, message, **place, title=title)


def _relative(file: str | None, root: str) -> str | None:
    """The file as GitHub names it; one outside of the checkout has no place in the diff."""
    if not file:
        return None
    path = Path(file)
    if not path.is_absolute():
        return path.as_posix()
    if not root or not path.is_relative_to(root):
        return None
    return path.relative_to(root).as_posix()


def _command(level: str, message: str, **properties: str) -> str:
    shown = ",".join(f"{name}={_property(clean_line(value))}" for name, value in properties.items())
    return f"::{level} {shown}::{_escape(clean_text(message))}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def summary(outcome: GateOutcome) -> str:
    """A Markdown page: the verdict, the cases that ask for attention, the others folded away."""
    if outcome.broken:
        return f"### Gate: a side does not load\n\n{escape_markdown(outcome.broken)}\n"
    loud = [case for case in outcome.cases if PRESENTATIONS[case.verdict].level]
    quiet = [case for case in outcome.cases if not (PRESENTATIONS[case.verdict].level or case.same_code)]
    same_code = wording.same_code_line(outcome)
    left_out = [f"- {escape_markdown(line)}" for line in wording.left_out_lines(outcome)]
    means = wording.means_line(outcome)
    parts = [
        f"### Gate: {escape_markdown(wording.conclusion(outcome))}",
        "\n".join(
            f"{escape_markdown(line)}  " for line in (wording.comparison(outcome), *wording.promises(outcome))
        ),
        *_tables(outcome, loud),
        *_details(wording.counts(quiet), _tables(outcome, quiet)),
        *([escape_markdown(same_code)] if same_code else []),
        *_details(f"{len(outcome.left_out)} left out", ["\n".join(left_out)] if left_out else []),
        *([escape_markdown(means)] if means else []),
        *(f"> {escape_markdown(note)}" for note in outcome.notes),
        "\n".join(f"- {_code(step)}" for step in wording.next_steps(outcome)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _details(title: str, parts: Sequence[str]) -> list[str]:
    if not parts:
        return []
    return [f"<details><summary>{title}</summary>", *parts, "</details>"]


def _tables(outcome: GateOutcome, cases: Sequence[CaseVerdict]) -> list[str]:
    """A heading and a table per family."""
    verdicts = {case.case: case for case in cases}
    families = by_family([name_of(case) for case in verdicts])
    return [
        f"{escape_markdown(heading(names))}\n\n"
        f"{_table(outcome, names, [verdicts[name.case] for name in names])}"
        for names in families.values()
    ]


def _table(outcome: GateOutcome, names: Sequence[Name], cases: Sequence[CaseVerdict]) -> str:
    timed = outcome.kind != STATIC
    titles = ["case", "seq", "verdict", *(["change", "98 %", "pairs"] if timed else []), "reason"]
    lines = [titles, ["---"] * len(titles)]
    for name, case in zip(names, cases, strict=True):
        at = distinction(name, names)
        figures = [wording.change(case), wording.interval(case), str(case.pairs or wording.ABSENT)]
        reasons = [*([] if case.verdict == UNCHANGED else [case.reason]), *case.notes]
        lines.append(
            [
                _code(f"{name.implementation} {at}".rstrip()),
                wording.ABSENT if name.seq is None else format_count(name.seq),
                wording.in_words(case.verdict),
                *(figures if timed else []),
                "; ".join(map(escape_markdown, reasons)),
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(text: str) -> str:
    return f"`{clean_line(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`"
