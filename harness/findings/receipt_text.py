"""A receipt as Markdown: its data in an HTML comment, and the text that follows from them.

The text ends with the data's own hash, so that an edit of either alone shows. Whoever writes both anew makes
a receipt that holds together: only running it again proves anything.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import asdict

import msgspec

from harness.core.errors import UsageError
from harness.core.grouped import grouped
from harness.core.plain_data import from_plain, plain_number
from harness.core.shown_text import clean_line, escape_json, escape_markdown
from harness.core.units import format_bytes, format_count
from harness.findings.receipt import (
    CORRECT,
    FITS,
    SCHEMA,
    VERDICT,
    CasePlan,
    Receipt,
    ReceiptLine,
    TimedRatio,
)
from harness.report import format as fmt
from harness.report.format import short_label

MOST_LINES = 22  # of one kind: the rest is in the data
MOST_CHARACTERS = 1 << 22
LONGEST_WHY = 200
_BEGIN, _END = "<!-- seqsweep-receipt", "<!-- seqsweep-receipt end -->"
_FORM = re.compile(rf"{_BEGIN} (\{{.*\}}) -->\n(.*?){_END}", re.DOTALL)
_CASE = re.compile(r"(?P<label>[^@]*)@.*\bseq=(?P<seq>\d+)")
CAVEAT = (
    "an edit of this text, or of the data in its source, is found by `seqsweep verify`; a receipt written "
    "anew is not: running it again is what proves it"
)


def to_text(receipt: Receipt) -> str:
    """The receipt as Markdown of 60 lines at most."""
    # "--" would end the comment in some parsers, and JSON can write a hyphen by its number.
    plain = msgspec.json.encode(asdict(receipt), enc_hook=plain_number).decode()
    data = escape_json(plain).replace("--", "-\\u002d")
    return f"{_BEGIN} {data} -->\n{_visible(receipt, data)}{_END}\n"


def read_receipt(text: str, name: str) -> tuple[Receipt, str]:
    """The receipt in a text, with a sentence on how it was edited (empty: it was not).

    UsageError where there is none, or one that this version cannot read.
    """
    match = _FORM.search(text.replace("\r\n", "\n")) if len(text) <= MOST_CHARACTERS else None
    if match is None:
        raise UsageError(f"{name}: holds no whole receipt; seqsweep report --pr writes one")
    data, visible = match[1], match[2]
    try:
        receipt = from_plain(Receipt, msgspec.json.decode(data))
        if receipt.schema != SCHEMA:
            raise UsageError(
                f"{name}: receipts of schema {receipt.schema} need the seqsweep that writes them"
            )
        again = _visible(receipt, data)
    except (ValueError, OverflowError, RecursionError) as error:
        why = clean_line(str(error))[:LONGEST_WHY]
        raise UsageError(
            f"{name}: its data are no receipt ({why}); take the text as it was written"
        ) from None
    edited = [
        f'reads "{clean_line(theirs)}", and its data say "{clean_line(ours)}"'
        for theirs, ours in zip(_lines(visible), _lines(again), strict=False)
        if theirs != ours
    ]
    if not edited and _lines(visible) != _lines(again):
        edited = ["has other lines than its data"]
    return receipt, f"{name} was edited: it {edited[0]}" if edited else ""


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().split("\n")]


def _visible(receipt: Receipt, data: str) -> str:
    seal = hashlib.sha256(data.encode()).hexdigest()[:16]
    facts = receipt.machine
    machine = (facts.get("gpu") or {}).get("name") or facts.get("cpu") or "an unnamed machine"
    heads = [line for line in receipt.lines if line.kind not in {FITS, CORRECT}]
    rest = [line for line in receipt.lines if line.kind in {FITS, CORRECT}]
    state = f"{receipt.commit[:12] or 'unknown'}{', with files that differed' if receipt.dirty else ''}"
    replay = clean_line(receipt.command).replace("`", "'")
    lines = [
        f"### seqsweep: run {escape_markdown(receipt.run)} on {escape_markdown(str(machine))}",
        "",
        *_items(heads),
        *([f"- gate: {escape_markdown(receipt.gate)}"] if receipt.gate else []),
        "",
        "<details><summary>What fits, what is correct, how to replay it</summary>",
        "",
        *_items(rest),
        f"- replay: `{replay}` at commit {escape_markdown(state)}",
        f"- records: {receipt.records}, sha256 {escape_markdown(receipt.digest)}",
        f"- receipt {seal}: {CAVEAT}",
        "",
        "</details>",
    ]
    return "\n".join(lines) + "\n"


def _items(lines: list[ReceiptLine]) -> Iterable[str]:
    yield from (f"- {escape_markdown(text_of(line))}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"- and {len(lines) - MOST_LINES} more in the data"


def text_of(line: ReceiptLine) -> str:
    """`attention: …, fwd on cpu: nsa_mslk over dense at 16Ki 2.67× [2.46, 2.85]`."""
    if line.kind == FITS:
        by_label = grouped(line.plans, lambda plan: _name(plan.case)[0])
        fits = "; ".join(f"{label} {_fit(plans)}" for label, plans in by_label.items())
        return f"{line.about}: fits {line.target}: {fits}"
    if line.kind == CORRECT:
        met = sum(judged.passed for judged in line.judged)
        recalls = [r for judged in line.judged if isinstance(r := judged.figures.get("recall"), float)]
        recall = f", recall {min(recalls):.4g} to {max(recalls):.4g}" if recalls else ""
        return f"{line.about}: {met} of {len(line.judged)} cases checked meet their contract{recall}"
    word = "" if line.kind == VERDICT else "crossover: "
    return f"{line.about}: {word}{', '.join(map(ratio_text, line.ratios))}"


def ratio_text(ratio: TimedRatio) -> str:
    (label, at), (base, _) = _name(ratio.case), _name(ratio.base)
    bounds = "" if ratio.low is not None else " (no interval)"
    return f"{label} over {base} at {at} {fmt.speedup(ratio.ratio, ratio.low, ratio.high)}{bounds}"


def _fit(plans: list[CasePlan]) -> str:
    """`≥ 64Ki (142 MiB)`, `64Ki (8.2 GiB), not 512Ki (33.1 GiB)`."""
    inside = [_sized(plan) for plan in plans if plan.fits]
    outside = [_sized(plan) for plan in plans if not plan.fits]
    if not inside:
        return f"not {outside[0]}"
    return f"{inside[0]}, not {outside[0]}" if outside else f"≥ {inside[0]}"


def _sized(plan: CasePlan) -> str:
    size = f" ({format_bytes(plan.bytes)})" if plan.bytes is not None else ""
    return f"{_name(plan.case)[1]}{size}"


def _name(case: str) -> tuple[str, str]:
    """(implementation, length) of a case's id. ValueError for what is none."""
    match = _CASE.match(case)
    if match is None:
        raise ValueError(f"{case} is no case")
    return short_label(match["label"]), format_count(int(match["seq"]))
