"""A figure of a claim, and the verdict on it, in words."""

from __future__ import annotations

from collections.abc import Sequence

from harness.spec.claim import (
    CONTRADICTED,
    ELSEWHERE,
    IMPLAUSIBLE,
    NOT_CHECKABLE,
    Claim,
    Read,
)
from harness.spec.expression import Value
from harness.spec.units import format_bytes

BYTES = "B"
EXPONENTS = 10**7  # from here on other numbers have one
GROUPED = 10**9  # whole numbers below it are written out


def shown(value: Value | None, unit: str = "") -> str:
    """`285212672`, `B` → `272.0 MiB`; truths as yes and no; program hashes shortened; nothing as —."""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return f"{value[:15]}…" if value.startswith("sha256:") else value
    if unit == BYTES:
        return format_bytes(value, 4)
    text = _number(value)
    return f"{text}{unit}" if unit in {"×", ""} else f"{text} {unit}"


def _number(value: float) -> str:
    """Four significant digits, or a whole number as it is; a narrow space between thousands."""
    if value == int(value) and abs(value) < GROUPED:
        return _grouped(f"{int(value):,}")
    if 1_000 <= abs(value) < EXPONENTS:
        return _grouped(f"{round(value, 3 - len(str(int(abs(value)))) + 1):,.0f}")
    text = f"{value:.4g}"
    if "e" not in text:
        return text
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}"


def _grouped(text: str) -> str:
    return text.replace(",", "\u202f")


def theirs(read: Read) -> str:
    """What was published: a number, a range, or the bound that the hardware sets."""
    unit = read.figure.unit
    if read.figure.bounded:
        most = f"at most {shown(read.upto, unit)}" if read.upto is not None else ""
        least = f"at least {shown(read.theirs, unit)}" if read.theirs is not None else ""
        return " and ".join(filter(None, (least, most)))
    if read.upto is not None:
        return f"{shown(read.theirs)} to {shown(read.upto, unit)}"
    return shown(read.theirs, unit)


def ours(read: Read) -> str:
    return shown(read.ours, read.figure.unit)


def tolerance(read: Read) -> str:
    """By how much ours may differ; nothing for a bound, or for data."""
    if read.figure.bounded or read.figure.ours is None:
        return ""
    return f"{100 * read.figure.within:g} %" if read.figure.within else "exact"


def method(read: Read) -> str:
    """Where ours comes from."""
    return ", ".join(read.by) or "arithmetic"


def sentence(claim: Claim, word: str, reads: Sequence[Read]) -> str:
    """The author's sentence where the verdict is the expected one; else what decided."""
    if word == NOT_CHECKABLE:
        undecided = [one.missing for one in reads if one.missing]
        return _closed(claim.not_checkable or next(iter(undecided), "") or claim.because)
    if word == claim.expect and claim.because:
        return _closed(claim.because)
    if word in {CONTRADICTED, IMPLAUSIBLE}:
        return _against(word, reads)
    targets = list(dict.fromkeys(target for one in reads for target in one.targets))
    where = f"Compiled for {' and '.join(targets)}, " if targets and word == ELSEWHERE else ""
    return _closed(f"{where}{_agreement(reads, start=not where)}")


def _against(word: str, reads: Sequence[Read]) -> str:
    wrong = [one for one in reads if one.agrees is False]
    own = [one for one in wrong if one.figure.bounded or one.figure.wrong] if word == IMPLAUSIBLE else wrong
    read = own[0]
    at = f" at {read.row}" if read.row else ""
    name = _capital(read.figure.name)
    if read.figure.bounded:
        return f"{name}{at}: {ours(read)}, and it can be {theirs(read)}."
    return f"{name}{at}: {ours(read)} here, {theirs(read)} published."


def _agreement(reads: Sequence[Read], *, start: bool) -> str:
    compared = [one for one in reads if one.agrees and not one.figure.bounded]
    shares = sorted({one.figure.within for one in compared})
    many = "both" if len(compared) == 2 else f"all {len(compared)}"
    what = "the figure agrees" if len(compared) == 1 else f"{many} figures agree"
    if not compared:
        what = "nothing speaks against it"
    elif shares == [0.0]:
        what += " exactly"
    else:
        what += f" within {' and '.join(f'{100 * share:g} %' for share in shares if share)}"
        what += " or exactly" if 0.0 in shares else ""
    return _capital(what) if start else what


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _closed(text: str) -> str:
    return text if not text or text.endswith((".", "…")) else f"{text}."
