"""docs/CLAIMS.md and docs/CLAIMS_CONTEXT.md: published numbers, their verdicts, and why.

The pages hold nothing that a second run would change: no date, no duration, no machine. Figures of the
host's compiler may differ on another processor; :func:`~harness.claims.page_diff.alike` allows for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from harness.catalog.accelerators import HOST, target
from harness.claims.model import (
    ADDS_UP,
    AGAINST,
    CONTEXT,
    ELSEWHERE,
    INCONSISTENT,
    NOT_CHECKABLE,
    REPRODUCED,
    VACUOUS,
    VARIES,
    VERDICTS,
    Citation,
    Claim,
    Reading,
    Source,
    Table,
    Verdict,
)
from harness.claims.page_diff import DRIFT
from harness.claims.report import totals
from harness.claims.wording import (
    bound_text,
    disagreement,
    follows_text,
    found_text,
    method_text,
    published_text,
    tolerance_text,
)
from harness.core.grouped import collected
from harness.core.shown_text import clean_text
from harness.core.units import format_count
from harness.core.workload import canonical
from harness.report.markdown_table import markdown_table

COMMAND = "seqsweep claims"
PAGES: Mapping[str, bool] = {"CLAIMS.md": False, "CLAIMS_CONTEXT.md": True}  # page → whether it is context
ABSENT = "–"
HEADLINES = 10  # sentences at the head of the page
OBJECTION = "Wrong? Open an issue with the source, and the verdict changes."
COLUMNS = ("figure", "published", "follows from it", "found here", "tolerance", "found by")
TAG = re.compile(r"<(?=[A-Za-z/!?])")  # what Markdown would hand on as HTML
GLOSSARY: Mapping[str, str] = {
    "published": "the number as the document prints it",
    "follows from it": "arithmetic on published numbers, written out",
    "found here": "counted, compiled or run by this project, or taken from a device's data file",
    "NSA": "native sparse attention: a compressed, a selected and a window branch, mixed by gates",
    "dense": "attention over every earlier key",
    "CmpSp, sparse compressed": "NSA whose compressed branch reads selected groups of means, not all of them",
    "FA4": "the flash-attention kernels that MSLK's branches run on",
    "l, block": "tokens in a block of keys that is compressed to one mean and selected as a whole",
    "F+B": "forward and backward",
    "MLA": "multi-head latent attention, DeepSeek's",
    "absorb": "MLA that attends the latents themselves instead of making every head's keys from them",
    "crossover": "the length from which on one way is faster than another",
    "planned, temp": "memory that a compiler reserves for a program, and the part that holds intermediates",
}


def page(verdicts: Sequence[Verdict], versions: Mapping[str, str], *, context: bool = False) -> str:
    """The text of the claims page, or of the context page.

    `versions` are those that the figures are exact for, by name: of compilers, and torch.
    """
    shown = [verdict for verdict in verdicts if verdict.claim.context == context]
    families = list(dict.fromkeys(verdict.claim.family for verdict in shown))
    sections = _context_head() if context else [*_head(shown, versions), *_findings(shown), *_words(shown)]
    for family in families:
        sections += _family(family, [verdict for verdict in shown if verdict.claim.family == family])
    return TAG.sub("&lt;", clean_text("\n".join(sections)))


def _head(verdicts: Sequence[Verdict], versions: Mapping[str, str]) -> list[str]:
    exact = ", ".join(f"{name} {version}" for name, version in versions.items())
    return [
        "# Published numbers, and what became of them",
        "",
        f"{totals(verdicts)}. {OBJECTION}",
        "",
        f"Written by `{COMMAND}` from `impls/*/claims.yaml`; do not edit it: change a claim there and run",
        f"the command again. `{COMMAND} --check` fails when this file is not what would be written. Numbers",
        "of other papers and projects, and this project's own counts, stand in",
        "[CLAIMS_CONTEXT.md](CLAIMS_CONTEXT.md).",
        "",
        f"Compiled figures and contracts are exact for {exact or 'no compiler'};",
        "other versions may plan otherwise. No figure is carried over to another target, and nothing here",
        f"was timed. Numbers with {VARIES.strip()} rest on the host's compiler, which plans for the",
        f"processor: on another they may differ by {100 * DRIFT:g} %, or by the stated tolerance where that",
        "is more.",
        "",
    ]


def _context_head() -> list[str]:
    return [
        "# Numbers for context",
        "",
        "Of other papers and projects, and this project's own counts. They are checked as the claims of",
        f"[CLAIMS.md](CLAIMS.md) are, and not counted among them. {OBJECTION}",
        "",
        f"Written by `{COMMAND}`; do not edit it.",
        "",
    ]


def _findings(verdicts: Sequence[Verdict]) -> list[str]:
    """The summary: claims that do not hold, those that do, and what would settle the rest."""
    doubted = [verdict for verdict in verdicts if verdict.word in (*AGAINST, VACUOUS)]
    headlined = [verdict for verdict in doubted if verdict.claim.headline][:HEADLINES]
    other = [verdict for verdict in doubted if verdict.word in AGAINST and verdict not in headlined]
    return [
        *_list("What does not hold", ("claim", "what was found"), _headlines(headlined)),
        *_list("What else does not hold", ("claim", "what was published", "verdict", "why"), _against(other)),
        *_verdict_rows(
            "What is true and shows nothing",
            [verdict for verdict in verdicts if verdict not in headlined],
            (VACUOUS,),
        ),
        *_verdict_rows("Reproduced by compiling or running", verdicts, (REPRODUCED, ELSEWHERE)),
        *_verdict_rows("What adds up", verdicts, (ADDS_UP,)),
        *_list("What only the hardware would settle", ("what is missing", "for"), _missing_rows(verdicts)),
    ]


def _missing(verdict: Verdict) -> str:
    """What it would take to settle a claim; empty where it is settled."""
    is_open = verdict.word == NOT_CHECKABLE
    return verdict.claim.needs or (verdict.claim.not_checkable or verdict.sentence if is_open else "")


def _missing_rows(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """Rows of what is missing, each with the claims that it would settle."""
    claims = collected((why, _link(verdict.claim)) for verdict in verdicts if (why := _missing(verdict)))
    return [(missing, ", ".join(links)) for missing, links in claims.items()]


def _verdict_rows(title: str, verdicts: Sequence[Verdict], words: Sequence[str]) -> list[str]:
    chosen = [verdict for verdict in verdicts if verdict.word in words]
    return _list(title, ("claim", "what was published", "verdict"), _rows(chosen))


def _headlines(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    return [(_link(verdict.claim), verdict.claim.headline) for verdict in verdicts]


def _against(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    rows = zip(_rows(verdicts), map(disagreement, verdicts), strict=True)
    return [(*row, why) for row, why in rows]


def _rows(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    return [(_link(verdict.claim), verdict.claim.says, verdict.word) for verdict in verdicts]


def _list(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"## {title}", "", *_grid(columns, rows)] if rows else []


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]], rule: str = "---") -> list[str]:
    cells = [[_cell(text) or ABSENT for text in row] for row in rows]
    return [markdown_table(columns, cells, [rule] * len(columns)), ""]


def _words(verdicts: Sequence[Verdict]) -> list[str]:
    rows = [
        (word, str(sum(verdict.word == word for verdict in verdicts)), meaning)
        for word, meaning in VERDICTS.items()
    ]
    return [
        *_list("The verdicts", ("verdict", "claims", "what it means"), rows),
        *_list("Words", ("word", "what it means"), list(GLOSSARY.items())),
    ]


def _link(claim: Claim) -> str:
    return f"[{claim.name}](#{_anchor(claim.name)})"


def _anchor(name: str) -> str:
    """The anchor that Markdown viewers give a heading: letters, digits, `-` and `_` stay."""
    return re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-")


def _family(name: str, verdicts: Sequence[Verdict]) -> list[str]:
    tables = {verdict.claim.table.id: verdict.claim.table for verdict in verdicts if verdict.claim.table}
    lines = [f"## {name}", "", f"Check them again with `{COMMAND} {name}`.", ""]
    for table in tables.values():
        lines += _published_table(table, name)
    for verdict in verdicts:
        lines += _claim(verdict)
    return lines


def _published_table(table: Table, family: str) -> list[str]:
    """A table as published, once for all claims that refer to it."""
    cited = "; ".join(_sources(table.sources))
    rows = [zip(row, texts, strict=True) for row, texts in zip(table.rows, table.written, strict=True)]
    cells = [[ABSENT if value is None else text for value, text in row] for row in rows]
    units = f", in {table.units}" if table.units else ""
    heading = [f"### {_table_name(table, family)}", "", f"As published{units}: {cited}.", ""]
    return [*heading, *_grid(table.columns, cells, rule="---:")]


def _table_name(table: Table, family: str) -> str:
    return f"Table {table.id} of {family}"


def _claim(verdict: Verdict) -> list[str]:
    claim = verdict.claim
    word = f"**{verdict.word}**"
    if verdict.word == CONTEXT:
        word += f" ({verdict.judged})"
    if verdict.unexpected:
        word += f" (expected {claim.expect})"
    lines = [f"### {claim.name}", "", claim.says, "", f"- source: {'; '.join(_sources(claim.sources))}"]
    lines.append(f"- hardware: {claim.hardware}{_stands_for(claim)}")
    if claim.given:
        lines.append(f"- shape: {', '.join(_field(claim, name) for name in claim.given)}")
    if claim.table is not None:
        name = _table_name(claim.table, claim.family)
        lines.append(f"- rows: [{claim.table.id}](#{_anchor(name)})")
    lines.append(f"- verdict: {word}: {verdict.sentence}")
    if claim.needs:
        lines.append(f"- only the hardware would settle: {claim.needs}")
    lines += [f"- check it again: `{COMMAND} {claim.name}`{_extras(verdict)}", ""]
    return [*lines, *_figures(verdict.readings)]


def _extras(verdict: Verdict) -> str:
    """The install extras of this package that a claim's figures need."""
    kinds = {target(name).kind for reading in verdict.readings for name in reading.targets} - {HOST}
    return f" (needs `pip install -e '.[{','.join(sorted(kinds))}]'`)" if kinds else ""


def _sources(citations: Sequence[Citation]) -> Iterator[str]:
    for source in dict.fromkeys(citation.source for citation in citations):
        title = f"[{source.title}]({source.url})" if source.url else source.title
        yield f"{title}{_version(source)}"


def _version(source: Source) -> str:
    known = not source.version or source.version in source.title
    return "" if known else f" @ {source.version}"


def _stands_for(claim: Claim) -> str:
    return f" (here: {', '.join(claim.targets)})" if claim.targets else ""


def _field(claim: Claim, name: str) -> str:
    value = claim.shape[name]
    return f"{name} {format_count(value) if type(value) is int else canonical(value)}"


def _figures(readings: Sequence[Reading]) -> list[str]:
    return _grid(COLUMNS, [_figure(reading) for reading in readings]) if readings else []


def _figure(reading: Reading) -> tuple[str, ...]:
    figure = reading.figure
    name = f"{figure.name}, at {reading.row}" if reading.row else figure.name
    found = f"none: {reading.missing}" if reading.missing else found_text(reading)
    if figure.bounded and not reading.missing:
        found = f"{found}; {bound_text(reading)}".removeprefix("; ")
    columns = [published_text(reading), follows_text(reading), found]
    if reading.agrees is False:
        blamed = 1 if reading.against == INCONSISTENT and columns[1] else 2
        columns[blamed] += " ✗"
    by = method_text(reading) if reading.by or figure.decides else ABSENT
    return name, *columns, tolerance_text(reading), by


def _cell(text: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", text.strip()).replace("|", "\\|")
