"""A receipt as Markdown: its data in an HTML comment, and the text that follows from them.

The text ends with the data's own hash, so that an edit of either alone shows. Whoever writes both anew makes
a receipt that holds together: only running it again proves anything.
"""

import binascii
import hashlib
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from harness.catalog.accelerators import HOST
from harness.core.errors import UsageError
from harness.core.grouped import grouped
from harness.core.plain_data import from_plain, plain_number
from harness.core.shown_text import NO_WIDTH, clean_line, escape_html, escape_markdown
from harness.core.units import format_bytes, format_count
from harness.findings.background import describe_machine
from harness.findings.receipt import (
    SCHEMA,
    CasePlan,
    JudgedCase,
    Receipt,
    ReceiptPanel,
    ReceiptRow,
    Statement,
    TargetPlans,
    TimedRatio,
)
from harness.report import format as fmt
from harness.report.answer import OTHER
from harness.report.format import short_label
from harness.report.templates import fill, without_gaps

# Limits of the text, as a comment on GitHub ends at 64 KiB: a panel's open and folded rows, panels, and a
# panel's sentences on owners. The rest is in the data.
MOST_ROWS, MOST_FOLDED, MOST_PANELS, MOST_OWNED = 10, 28, 12, 6
MOST_CHARACTERS = 1 << 22
LONGEST_WHY = 200
_BEGIN, _END = "<!-- seqsweep-receipt", "<!-- seqsweep-receipt end -->"
_FORM = re.compile(rf"{_BEGIN} ([A-Za-z0-9+/=]+) -->\n(.*?\n){_END}", re.DOTALL)
_CASE = re.compile(r"(?P<label>[^@]*)@.*\bseq=(?P<seq>\d+)", re.DOTALL)
CAVEAT = (
    "an edit of this text, or of the data in its source, is found by `seqsweep verify`; a receipt written "
    "anew is not: running it again is what proves it"
)
TEMPLATE = Path(__file__).with_name("receipt.md.j2")
MOST_BYTES = 1 << 25  # of JSON: a few kilobytes could otherwise unfold to gigabytes


class _Name(NamedTuple):
    label: str
    seq: int


def to_text(receipt: Receipt) -> str:
    """The receipt as Markdown, for a comment on GitHub."""
    data = pack(receipt)
    return f"{_BEGIN} {data} -->\n{_visible(receipt, data)}{_END}\n"


def read_receipt(text: str, name: str) -> tuple[Receipt, str]:
    """The receipt in a text, with a sentence on how it was edited (empty: it was not).

    UsageError where there is none, or one that this version cannot read.
    """
    match = _FORM.search(text.replace("\r\n", "\n")) if len(text) <= MOST_CHARACTERS else None
    if match is None:
        missing = "is of an older version" if f"{_BEGIN} {{" in text else "holds no whole receipt"
        raise UsageError(f"{name}: {missing}; seqsweep report --pr writes one")
    data, visible = match[1], match[2]
    try:
        receipt = unpack(data)
        again = _visible(receipt, data)
    except (ValueError, ArithmeticError, RecursionError) as error:
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
    plain = text.replace(NO_WIDTH, "")  # receipts of earlier versions lack it
    return [line.rstrip() for line in plain.strip().split("\n")]


def _visible(receipt: Receipt, data: str) -> str:
    """The visible text of a receipt. The seal at its end, a hash of the data, ties the text to the data."""
    state = f"{receipt.commit[:12] or 'unknown'}{', with files that differed' if receipt.dirty else ''}"
    text = fill(
        TEMPLATE,
        escape_markdown,
        receipt=receipt,
        most_folded=MOST_FOLDED,
        most_panels=MOST_PANELS,
        most_owned=MOST_OWNED,
        replay=clean_line(f"{receipt.command}  # at commit {state}").replace("`", "'"),
        seal=hashlib.sha256(data.encode()).hexdigest()[:16],
        caveat=CAVEAT,
        other=OTHER,
        html=lambda text: escape_html(clean_line(text)),
        by_length=_by_length,
        base_of=_base_of,
        cells=_cells,
        memory=_memory,
        correctness=_correctness,
        describe_machine=describe_machine,
    )
    return without_gaps(text) + "\n"


def _by_length(rows: Sequence[ReceiptRow]) -> tuple[Sequence[ReceiptRow], Sequence[ReceiptRow]]:
    """(the rows to fold away, the rows of the longest lengths, MOST_ROWS at most)."""
    shown, by_seq = 0, grouped(rows, lambda row: _name(row.case).seq)
    for group in reversed(by_seq.values()):
        if shown + len(group) > MOST_ROWS:
            break
        shown += len(group)
    return rows[: -(shown or MOST_ROWS)], rows[-(shown or MOST_ROWS) :]


def _base_of(rows: Sequence[ReceiptRow]) -> str:
    return next((_name(row.ratio.base).label for row in rows if row.ratio), "")


def _cells(row: ReceiptRow) -> tuple[str, ...]:
    """The cells of a row. In place of a ratio without an interval stands the reason why there is none."""
    label, seq = _name(row.case)
    time, interval = fmt.ABSENT, row.why
    if row.seconds is not None:
        time, bounds = fmt.seconds(row.seconds, row.low, row.high)
        interval = f"none: {row.why}" if row.low is None else "; ".join(filter(None, (bounds, row.why)))
    speedup = row.why_no_ratio or fmt.ABSENT
    if row.ratio is not None and row.ratio.low is not None:
        speedup = fmt.speedup(row.ratio.ratio, row.ratio.low, row.ratio.high)
    elif row.ratio is not None:
        speedup = f"no interval: {row.why_no_ratio}"
    return format_count(seq), label + ("" if row.equivalent else f" {OTHER}"), time, interval, speedup


def _memory(panel: ReceiptPanel) -> str:
    return "; ".join(f"{_place(fit)}: {_fits(fit)}" for fit in panel.fits) or "nothing was compiled"


def _place(fit: TargetPlans) -> str:
    """The target of plans; of those made where the run was measured, its device."""
    devices = {plan.case.rpartition(":")[2] for plan in fit.plans} - {"cpu"}
    return next(iter(devices)) if fit.target == HOST and devices else fit.target


def _correctness(panel: ReceiptPanel) -> str:
    unjudged = len({row.case for row in panel.rows} - {judged.case for judged in panel.judged})
    more = f"; {unjudged} more gave no answer to check" if unjudged else ""
    return f"{_contract_summary(panel.judged)}{more}"


def _fits(fit: TargetPlans) -> str:
    by_label = grouped(fit.plans, lambda plan: _name(plan.case).label)
    return ", ".join(f"{label} {_fit(plans)}" for label, plans in by_label.items())


def _contract_summary(judged: Sequence[JudgedCase]) -> str:
    """`17 of 18 cases checked meet their contract, not sparse at 4Ki; recall 0.991 to 1`."""
    if not judged:
        return "nothing was checked"
    failed = [_name(case.case) for case in judged if not case.passed]
    names = "".join(f", not {label} at {format_count(seq)}" for label, seq in failed[:MOST_ROWS])
    recalls = [r for case in judged if isinstance(r := case.figures.get("recall"), float)]
    recall = f"; recall {min(recalls):.4g} to {max(recalls):.4g}" if recalls else ""
    return f"{len(judged) - len(failed)} of {len(judged)} cases checked meet their contract{names}{recall}"


def text_of(about: str, statement: Statement) -> str:
    """`attention, fwd on cpu: nsa_mslk over dense at 16Ki 2.67× [2.46, 2.85]`."""
    match statement:
        case TimedRatio():
            return f"{about}: {_ratio(statement)}"
        case TargetPlans():
            return f"{about}: fits {_place(statement)}: {_fits(statement)}"
        case _:
            return f"{about}: {_contract_summary(statement)}"


def _ratio(ratio: TimedRatio) -> str:
    (label, seq), (base, _) = _name(ratio.case), _name(ratio.base)
    speedup = fmt.speedup(ratio.ratio, ratio.low, ratio.high)
    bounds = "" if ratio.low is not None else " (no interval)"
    return f"{label} over {base} at {format_count(seq)} {speedup}{bounds}"


def _fit(plans: list[CasePlan]) -> str:
    """`≥ 64Ki (142 MiB)`, `64Ki (8.2 GiB), not 512Ki (33.1 GiB)`."""
    inside = [_length_with_plan(plan) for plan in plans if plan.fits]
    outside = [_length_with_plan(plan) for plan in plans if not plan.fits]
    if not inside:
        return f"not {outside[0]}"
    return f"{inside[0]}, not {outside[0]}" if outside else f"≥ {inside[0]}"


def _length_with_plan(plan: CasePlan) -> str:
    size = f" ({format_bytes(plan.bytes)})" if plan.bytes is not None else ""
    return f"{format_count(_name(plan.case).seq)}{size}"


def _name(case: str) -> _Name:
    """Implementation and length of a case's id. ValueError for what is not an id."""
    match = _CASE.match(case)
    if match is None:
        raise ValueError(f"{case} is no case")
    return _Name(short_label(match["label"]), int(match["seq"]))


def pack(receipt: Receipt) -> str:
    """The receipt as compressed JSON in base64, which cannot end the HTML comment that it stands in."""
    plain = msgspec.json.encode(receipt, enc_hook=plain_number)
    return b64encode(zlib.compress(plain, 9)).decode()


def unpack(packed: str) -> Receipt:
    """The receipt that :func:`pack` wrote. ValueError for other text, and for another version's."""
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(b64decode(packed, validate=True), MOST_BYTES)
    except (binascii.Error, zlib.error):
        raise ValueError("damaged") from None
    if not stream.eof:
        raise ValueError("damaged" if len(plain) < MOST_BYTES else f"beyond {MOST_BYTES} bytes")
    data = msgspec.json.decode(plain)
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"of schema {schema}, and this seqsweep reads schema {SCHEMA}")
    return from_plain(Receipt, data)
