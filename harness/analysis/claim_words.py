"""A figure of a claim, and the verdict on it, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.catalog.accelerators import HOST
from harness.spec.claim import (
    CONTRADICTED,
    ELSEWHERE,
    IMPLAUSIBLE,
    NOT_CHECKABLE,
    Claim,
    Read,
)
from harness.spec.expression import Expression, Value
from harness.spec.units import format_bytes

BYTES = "B"
EXPONENTS = 10**7  # from here on other numbers have one
GROUPED = 10**9  # whole numbers below it are written out
DRIFTS = "≈\u202f"  # before a number that the host's compiler decided: another processor may give another
_PLAIN = re.compile(r"(\d[\d_]*)(\.\d+)?")
_HOST = re.compile(rf"""["']{HOST}["']""")


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
    return _with_unit(_number(value), unit)


def _with_unit(text: str, unit: str) -> str:
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
    """What was published, or what follows from it: a number, or a range."""
    figure = read.figure
    if figure.bounded:
        return _told(read.ours, figure.unit, figure.implied)
    if read.upto is not None:
        return f"{_told(read.theirs, '', figure.theirs)} to {_told(read.upto, figure.unit, figure.upto)}"
    return _told(read.theirs, figure.unit, figure.theirs)


def ours(read: Read) -> str:
    """What was found here, or the bound that what was published has to keep to: `≤ 56.87`."""
    figure = read.figure
    if not figure.bounded:
        return _told(read.ours, figure.unit, figure.ours)
    bounds = (("≥", read.theirs, figure.at_least), ("≤", read.upto, figure.at_most))
    found = [f"{sign} {_told(value, figure.unit, text)}" for sign, value, text in bounds if value is not None]
    return " and ".join(found) or shown(None)


def _told(value: Value | None, unit: str, expression: Expression | None) -> str:
    """A number written out keeps its digits (`26581.04`); one that the host's compiler decided gets a ≈."""
    if expression is None or value is None or isinstance(value, bool | str):
        return shown(value, unit)
    if unit != BYTES and (digits := _PLAIN.fullmatch(expression.text)):
        whole, fraction = digits.groups("")
        return _with_unit(f"{_grouped(f'{int(whole):,}')}{fraction}", unit)
    return f"{DRIFTS}{shown(value, unit)}" if _HOST.search(expression.text) else shown(value, unit)


def tolerance(read: Read) -> str:
    """By how much ours may differ; nothing for a figure that is not compared."""
    if not read.figure.compared:
        return ""
    return f"{100 * read.figure.within:g} %" if read.figure.within else "exact"


def method(read: Read) -> str:
    """Where ours comes from."""
    return ", ".join(read.by) or "arithmetic"


def sentence(claim: Claim, word: str, reads: Sequence[Read]) -> str:
    """The author's sentence where the verdict is the expected one; else what decided."""
    deciding = [one for one in reads if one.figure.decides]
    if word == NOT_CHECKABLE:
        undecided = [one.missing for one in deciding if one.missing]
        return _closed(claim.not_checkable or next(iter(undecided), "") or claim.because)
    if word == claim.expect and claim.because:
        return _closed(claim.because)
    if word in {CONTRADICTED, IMPLAUSIBLE}:
        return _against(word, reads)
    targets = list(dict.fromkeys(target for one in deciding for target in one.targets))
    where = f"Compiled for {' and '.join(targets)}, " if targets and word == ELSEWHERE else ""
    return _closed(f"{where}{_agreement(reads, start=not where)}")


def _against(word: str, reads: Sequence[Read]) -> str:
    wrong = [one for one in reads if one.agrees is False]
    own = [one for one in wrong if one.figure.bounded or one.figure.wrong] if word == IMPLAUSIBLE else wrong
    read = own[0]
    at = f" at {read.row}" if read.row else ""
    name = _capital(read.figure.name)
    if read.figure.bounded:
        return f"{name}{at}: {theirs(read)} by what was published, and it can only be {ours(read)}."
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
