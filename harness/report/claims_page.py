"""docs/CLAIMS.md: published numbers, ours beside them, and the verdict; the same for the same figures.

Nothing stands there that a second run would change: no date, no time taken, no machine. What the host's
compiler decided may differ on another processor; :func:`alike` allows for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from harness.analysis.claim_words import DRIFTS, method, ours, theirs, tolerance
from harness.report.claims import totals
from harness.spec.claim import NOT_CHECKABLE, VERDICTS, Claim, Read, Table, Verdict
from harness.spec.units import format_count
from harness.spec.workload import canonical

COMMAND = "seqsweep claims"
ABSENT = "–"
UNKNOWN = "not stated"  # a version that leaves nothing to say
DRIFT = 0.05  # by which share a number of the host's compiler may differ from one processor to the next
_PART = re.compile(r"^### (\S+/\S+)$", re.MULTILINE)
_DRIFTING = re.compile(rf"{DRIFTS}(-?\d[\d\u202f]*(?:\.\d+)?(?:e-?\d+)?)(?: ([KMGT]iB|B)\b)?")
_SCALES = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_TOLERANCE = re.compile(r" \| (\d+(?:\.\d+)?) % \| [^|]* \|$")


def page(verdicts: Sequence[Verdict], versions: Mapping[str, str]) -> str:
    """The document. `versions` are of what the figures are exact for, by name: compilers, and torch."""
    families = list(dict.fromkeys(one.claim.family for one in verdicts))
    parts = [_head(verdicts, versions)]
    parts += [_family(name, [one for one in verdicts if one.claim.family == name]) for name in families]
    return "\n".join(parts)


def parts(text: str) -> dict[str, str]:
    """A document's text by claim; what stands before the first claim of a family under the family's name."""
    found: dict[str, str] = {}
    for section in re.split(r"(?m)^(?=## )", text):
        pieces = _PART.split(section)
        heading = re.match(r"## (\S+)", section)
        found[heading[1] if heading else ""] = pieces[0].strip()
        found |= {name: body.strip() for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}
    return found


def alike(known: str, new: str) -> bool:
    """Whether two texts of a document are one but for what another processor may change.

    Verdicts, words, published numbers and those for accelerators have to be the same to the letter; numbers
    with a ≈ may differ by their row's tolerance, or by a twentieth where that is more.
    """
    lines = known.split("\n"), new.split("\n")
    return len(lines[0]) == len(lines[1]) and all(map(_alike, *lines))


def _alike(known: str, new: str) -> bool:
    if _DRIFTING.sub(DRIFTS, known) != _DRIFTING.sub(DRIFTS, new):
        return False
    stated = _TOLERANCE.search(new)
    share = max(DRIFT, float(stated[1]) / 100 if stated else 0.0)
    pairs = zip(_DRIFTING.findall(known), _DRIFTING.findall(new), strict=True)
    return all(_near(_amount(*a), _amount(*b), share) for a, b in pairs)


def _amount(number: str, unit: str) -> float:
    return float(number.replace("\u202f", "")) * _SCALES[unit]


def _near(one: float, other: float, share: float) -> bool:
    return abs(one - other) <= share * max(abs(one), abs(other))


def _head(verdicts: Sequence[Verdict], versions: Mapping[str, str]) -> str:
    counts = [
        f"| {word} | {sum(one.word == word for one in verdicts)} | {VERDICTS[word]} |" for word in VERDICTS
    ]
    exact = ", ".join(f"{name} {version}" for name, version in versions.items())
    return "\n".join(
        [
            "# Published numbers, and what became of them",
            "",
            f"{totals(verdicts)}.",
            "",
            "| verdict | claims | what it means |",
            "| --- | ---: | --- |",
            *counts,
            "",
            f"Written by `{COMMAND}` from `impls/*/claims.yaml`; do not edit it: change a claim there and",
            f"run the command again. `{COMMAND} --check` fails when this file is not what would be written.",
            "",
            f"Compiled figures and contracts are exact for {exact or 'no compiler'};",
            "other versions may plan otherwise. No figure is carried over to another target.",
            f"Numbers with {DRIFTS.strip()} rest on the host's compiler, which plans for the processor: on",
            f"another they may differ by {100 * DRIFT:g} %, or by the stated tolerance where that is more.",
            "Nothing was run but the contracts that a figure names, at tiny sizes.",
            "",
        ]
    )


def _family(name: str, verdicts: Sequence[Verdict]) -> str:
    rows = [
        f"| [{one.claim.id}](#{_anchor(one.claim.name)}) | {_cell(one.claim.says)} | {one.word} |"
        for one in verdicts
    ]
    head = [f"## {name}", "", f"{totals(verdicts)}.", "", "| claim | what is claimed | verdict |"]
    return "\n".join([*head, "| --- | --- | --- |", *rows, "", *(_claim(one) for one in verdicts)])


def _anchor(name: str) -> str:
    """The fragment that a heading gets where Markdown is shown: letters, digits, `-` and `_` stay."""
    return re.sub(r"[^\w-]", "", name.lower())


def _claim(one: Verdict) -> str:
    claim = one.claim
    verdict = f"**{one.word}**"
    if one.unexpected:
        verdict += f" (expected {claim.expect})"
    if one.word == NOT_CHECKABLE and any(read.agrees for read in one.figures):
        verdict += " (what can be checked of it agrees)"
    lines = [f"### {claim.name}", "", f"{claim.says}", "", f"- source: {_source(claim)}"]
    lines += [f"- hardware: {claim.hardware}{_stands_for(claim)}"]
    if claim.given:
        lines.append(f"- shape: {', '.join(_field(claim, name) for name in claim.given)}")
    lines += [f"- verdict: {verdict}: {one.sentence}", ""]
    if one.figures:
        lines += _figures(one.figures)
    if claim.table is not None:
        lines += _published(claim.table)
    return "\n".join(lines)


def _source(claim: Claim) -> str:
    known = claim.version == UNKNOWN or claim.version in claim.source
    return claim.source if known else f"{claim.source} @ {claim.version}"


def _stands_for(claim: Claim) -> str:
    return f" (here: {claim.target})" if claim.target else ""


def _field(claim: Claim, name: str) -> str:
    value = claim.shape[name]
    return f"{name} {format_count(value) if type(value) is int else canonical(value)}"


def _figures(reads: Sequence[Read]) -> list[str]:
    head = ["| figure | theirs | ours | tolerance | taken from |", "| --- | --- | --- | --- | --- |"]
    rows = [" | ".join(_cell(text) for text in _row(read)) for read in reads]
    return [*head, *(f"| {row} |" for row in rows), ""]


def _row(read: Read) -> tuple[str, ...]:
    name = f"{read.figure.name}, at {read.row}" if read.row else read.figure.name
    if not read.figure.decides and read.figure.ours is None:
        return name, theirs(read), ABSENT, ABSENT, "as published"
    published = theirs(read) if read.figure.decides else ABSENT
    own = f"none: {read.missing}" if read.missing else ours(read)
    return name, published, f"{own}{_sign(read)}", tolerance(read) or ABSENT, method(read)


def _sign(read: Read) -> str:
    return " ✗" if read.agrees is False else ""


def _published(table: Table) -> list[str]:
    units = f"As published, in {table.units}:" if table.units else "As published:"
    head = [units, "", f"| {' | '.join(_cell(name) for name in table.columns)} |"]
    head.append(f"| {' | '.join('---:' for _ in table.columns)} |")
    rows = [zip(row, texts, strict=True) for row, texts in zip(table.rows, table.written, strict=True)]
    cells = [[ABSENT if value is None else _cell(text) for value, text in row] for row in rows]
    return [*head, *(f"| {' | '.join(row)} |" for row in cells), ""]


def _cell(text: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", text.strip()).replace("|", "\\|")
