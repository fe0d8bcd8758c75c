"""A receipt as Markdown: its data in an HTML comment, and the text that follows from them.

Anybody can edit either: only running it again proves anything, and that reads the data alone.
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
from harness.findings.kept_run import describe_machine
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

# Limits of the text, as a comment on GitHub ends at 64 KiB: a panel's open and folded rows, and panels. The
# rest is in the data.
MOST_ROWS, MOST_FOLDED, MOST_PANELS = 10, 28, 12
MOST_CHARACTERS = 1 << 22
LONGEST_WHY = 200
_BEGIN, _END = "<!-- seqsweep-receipt", "<!-- seqsweep-receipt end -->"
_FORM = re.compile(rf"{_BEGIN} ([A-Za-z0-9+/=]+) -->\n(.*?\n){_END}", re.DOTALL)
_CASE = re.compile(r"(?P<label>[^@]*)@.*\bseq=(?P<seq>\d+)", re.DOTALL)
CAVEAT = "`seqsweep verify` runs again what the data in this text's source name; only that proves anything"
TEMPLATE = Path(__file__).with_name("receipt.md.j2")
MOST_BYTES = 1 << 25  # of JSON: a few kilobytes could otherwise unfold to gigabytes


def to_text(receipt: Receipt) -> str:
    """The receipt as Markdown, for a comment on GitHub."""
    data = pack(receipt)
    return f"{_BEGIN} {data} -->\n{_visible(receipt)}{_END}\n"


def read_receipt(text: str, name: str) -> Receipt:
    """The receipt in a text, by its data. UsageError where there is none, or one of another version."""
    match = _FORM.search(text.replace("\r\n", "\n")) if len(text) <= MOST_CHARACTERS else None
    if match is None:
        raise UsageError(f"{name}: holds no whole receipt; seqsweep report --pr writes one")
    try:
        receipt = unpack(match[1])
        _visible(receipt)
    except (ValueError, ArithmeticError, RecursionError) as error:
        why = clean_line(str(error))[:LONGEST_WHY]
        raise UsageError(
            f"{name}: its data are no receipt ({why}); take the text as it was written"
        ) from None
    return receipt


def _visible(receipt: Receipt) -> str:
    """The visible text of a receipt. ValueError where its data name no cases."""
    state = f"{receipt.commit[:12] or 'unknown'}{', with files that differed' if receipt.dirty else ''}"
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
    """(the rows to fold away, those of the longest lengths)."""
    return rows[:-MOST_ROWS], rows[-MOST_ROWS:]


def _base_of(rows: Sequence[ReceiptRow]) -> str:
    return next((_name(row.ratio.base)[0] for row in rows if row.ratio), "")


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


def _correctness(panel: ReceiptPanel) -> str:
    unjudged = len({row.case for row in panel.rows} - {judged.case for judged in panel.judged})
    more = f"; {unjudged} more gave no answer to check" if unjudged else ""
    return f"{_contract_summary(panel.judged)}{more}"


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
    if not isinstance(statement, TimedRatio):
        return f"{about}: {_contract_summary(statement)}"
    (label, seq), (base, _) = _name(statement.case), _name(statement.base)
    speedup = fmt.speedup(statement.ratio, statement.low, statement.high)
    bounds = "" if statement.low is not None else " (no interval)"
    return f"{about}: {label} over {base} at {format_count(seq)} {speedup}{bounds}"


def _name(case: str) -> tuple[str, int]:
    """Implementation and length of a case's id. ValueError for what is not an id."""
    match = _CASE.match(case)
    if match is None:
        raise ValueError(f"{case} is no case")
    return short_label(match["label"]), int(match["seq"])


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
