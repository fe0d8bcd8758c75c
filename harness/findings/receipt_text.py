"""Receipt as Markdown: its data in an HTML comment, and text made from the data.

Both can be edited, so only a new run proves anything. It reads only the data.
"""

import binascii
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.core.errors import UsageError
from harness.core.plain_data import from_plain, plain_number
from harness.core.shown_text import clean_line, escape_html, escape_markdown
from harness.core.units import format_count
from harness.findings.findings_run import describe_machine
from harness.findings.receipt import (
    SCHEMA,
    JudgedCase,
    Receipt,
    ReceiptPanel,
    ReceiptRow,
    Statement,
    TimedRatio,
)
from harness.report import format as fmt
from harness.report.answer import OTHER
from harness.report.format import short_label
from harness.report.templates import fill, without_gaps

# Limits of the text, because a comment on GitHub has at most 64 KiB: open and folded rows of a panel, and
# panels. All others are only in the data.
MOST_ROWS, MOST_FOLDED, MOST_PANELS = 10, 28, 12
MOST_CHARACTERS = 1 << 22
LONGEST_WHY = 200
_BEGIN, _END = "<!-- seqsweep-receipt", "<!-- seqsweep-receipt end -->"
_FORM = re.compile(rf"{_BEGIN} ([A-Za-z0-9+/=]+) -->\n(.*?\n){_END}", re.DOTALL)
_CASE = re.compile(r"(?P<label>[^@]*)@.*\bseq=(?P<seq>\d+)", re.DOTALL)
CAVEAT = "To check this receipt, run `seqsweep verify` on its source text: it runs these cases again"
TEMPLATE = Path(__file__).with_name("receipt.md.j2")
MOST_BYTES = 1 << 25  # of JSON, because a few kilobytes could decompress to gigabytes


def to_text(receipt: Receipt) -> str:
    """Format the receipt as Markdown, for a comment on GitHub."""
    data = pack(receipt)
    return f"{_BEGIN} {data} -->\n{_visible(receipt)}{_END}\n"


def read_receipt(text: str, name: str) -> Receipt:
    """Read the receipt in a text, by its data. UsageError if there is none, or its version differs."""
    match = _FORM.search(text.replace("\r\n", "\n")) if len(text) <= MOST_CHARACTERS else None
    if match is None:
        raise UsageError(f"{name}: contains no complete receipt; write one with seqsweep report --pr")
    try:
        receipt = unpack(match[1])
        _visible(receipt)
    except (ValueError, ArithmeticError, RecursionError) as error:
        why = clean_line(str(error))[:LONGEST_WHY]
        raise UsageError(f"{name}: invalid receipt data ({why}); use the text as it was written") from None
    return receipt


def _visible(receipt: Receipt) -> str:
    """Visible text of a receipt. ValueError if a case in its data is invalid."""
    state = f"{receipt.commit[:12] or 'unknown'}{', with uncommitted changes' if receipt.dirty else ''}"
    text = fill(
        TEMPLATE,
        escape_markdown,
        receipt=receipt,
        most_folded=MOST_FOLDED,
        most_panels=MOST_PANELS,
        replay=clean_line(f"{receipt.command}  # at commit {state}").replace("`", "'"),
        caveat=CAVEAT,
        other=OTHER,
        html=lambda text: escape_html(clean_line(text)),
        by_length=_by_length,
        base_of=_base_of,
        cells=_cells,
        correctness=_correctness,
        describe_machine=describe_machine,
    )
    return without_gaps(text) + "\n"


def _by_length(rows: Sequence[ReceiptRow]) -> tuple[Sequence[ReceiptRow], Sequence[ReceiptRow]]:
    """(rows to fold, rows of the longest lengths)."""
    return rows[:-MOST_ROWS], rows[-MOST_ROWS:]


def _base_of(rows: Sequence[ReceiptRow]) -> str:
    return next((_name(row.ratio.base)[0] for row in rows if row.ratio), "")


def _cells(row: ReceiptRow) -> tuple[str, ...]:
    """Cells of a row. A ratio without an interval is replaced by the reason."""
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


def _correctness(panel: ReceiptPanel) -> str:
    unchecked = len({row.case for row in panel.rows} - {judged.case for judged in panel.judged})
    more = f"; {unchecked} more had no result to check" if unchecked else ""
    return f"{_contract_summary(panel.judged)}{more}"


def _contract_summary(judged: Sequence[JudgedCase]) -> str:
    """`17 of 18 checked cases pass their contracts, not sparse at 4Ki; recall 0.991 to 1`."""
    if not judged:
        return "no case was checked"
    failed = [_name(case.case) for case in judged if not case.passed]
    names = "".join(f", not {label} at {format_count(seq)}" for label, seq in failed[:MOST_ROWS])
    recalls = [r for case in judged if isinstance(r := case.figures.get("recall"), float)]
    recall = f"; recall {min(recalls):.4g} to {max(recalls):.4g}" if recalls else ""
    return f"{len(judged) - len(failed)} of {len(judged)} checked cases pass their contracts{names}{recall}"


def text_of(about: str, statement: Statement) -> str:
    """`attention, fwd on cpu: nsa_mslk over dense at 16Ki 2.67× [2.46, 2.85]`."""
    if not isinstance(statement, TimedRatio):
        return f"{about}: {_contract_summary(statement)}"
    (label, seq), (base, _) = _name(statement.case), _name(statement.base)
    speedup = fmt.speedup(statement.ratio, statement.low, statement.high)
    bounds = "" if statement.low is not None else " (no interval)"
    return f"{about}: {label} over {base} at {format_count(seq)} {speedup}{bounds}"


def _name(case: str) -> tuple[str, int]:
    """(implementation, length) of a case's id. ValueError if it is not an id."""
    match = _CASE.match(case)
    if match is None:
        raise ValueError(f"{case} is not a case")
    return short_label(match["label"]), int(match["seq"])


def pack(receipt: Receipt) -> str:
    """Encode the receipt as compressed JSON in base64, which cannot end an HTML comment."""
    plain = msgspec.json.encode(receipt, enc_hook=plain_number)
    return b64encode(zlib.compress(plain, 9)).decode()


def unpack(packed: str) -> Receipt:
    """Decode a receipt of :func:`pack`. ValueError for other text, or another schema."""
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(b64decode(packed, validate=True), MOST_BYTES)
    except (binascii.Error, zlib.error):
        raise ValueError("damaged") from None
    if not stream.eof:
        raise ValueError("damaged" if len(plain) < MOST_BYTES else f"larger than {MOST_BYTES} bytes")
    data = msgspec.json.decode(plain)
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"schema {schema}; this seqsweep reads schema {SCHEMA}")
    return from_plain(Receipt, data)
