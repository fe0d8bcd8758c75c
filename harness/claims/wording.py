"""The wording of figures and verdicts: numbers, arithmetic with numbers in the place of names, sentences."""

import re
from collections.abc import Iterator, Sequence

from harness.claims.model import AGAINST, Citation, Claim, Reading, Verdict, Word
from harness.claims.quantity import ATOM, VARIES, Quantity, Value, grouped_digits, short_exponent, short_hash
from harness.core.units import format_bytes

BYTES = "B"
EXPONENTS = 10**7  # from here on other numbers have one
GROUPED = 10**9  # whole numbers below it are written out
COMPILED_FOR = "compiled for "
LONGEST = 90  # characters of arithmetic that a cell or a sentence holds
_PLAIN = re.compile(r"(\d[\d_]*)(\.\d+)?")


def value_text(value: Value, unit: str = "") -> str:
    """`285212672`, `B` → `272.0 MiB`; truths as yes and no; program hashes shortened."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return short_hash(value)
    return format_bytes(value, 4) if unit == BYTES else _with_unit(_number(value), unit)


def _with_unit(text: str, unit: str) -> str:
    return f"{text}{unit}" if unit in {"×", ""} else f"{text} {unit}"


def _number(value: float) -> str:
    """Four significant digits, or a whole number as it is; a narrow space between thousands."""
    if value == int(value) and abs(value) < GROUPED:
        return grouped_digits(int(value))
    if 1_000 <= abs(value) < EXPONENTS:
        return grouped_digits(round(value, 3 - len(str(int(abs(value)))) + 1))
    return short_exponent(f"{value:.4g}")


def _published_number(side: Quantity, unit: str) -> str:
    """A number written out, or in a cell, keeps its digits (`26581.04`); arithmetic has four."""
    digits = _PLAIN.fullmatch(side.text) if side.binds == ATOM and side.is_number and unit != BYTES else None
    if not digits:
        return value_text(side.value, unit)
    whole, fraction = digits.groups("")
    return _with_unit(f"{grouped_digits(int(whole))}{fraction}", unit)


def bound_text(reading: Reading) -> str:
    """The bounds of a figure: `≥ 4 and ≤ 56.87`."""
    bounds = (("≥", reading.side("at_least")), ("≤", reading.side("at_most")))
    return " and ".join(
        f"{sign} {_short(side, reading.figure.unit)}" for sign, side in bounds if side is not None
    )


def column_texts(reading: Reading) -> tuple[str, str, str]:
    """The three columns of a figure; bounds stand beside what is found."""
    found = _side_text(reading, "found")
    if reading.figure.bounded and not reading.missing:
        found = f"{found}; {bound_text(reading)}".removeprefix("; ")
    return _side_text(reading, "published"), _side_text(reading, "follows"), found


def _side_text(reading: Reading, column: str) -> str:
    """A column of a figure, with its arithmetic: `7.61 / 1.73 = 4.399`; empty where it has none.

    A published number has all its digits, or both ends of its range. What depends on the host's compiler is
    marked with ≈.
    """
    unit, side = reading.figure.unit, reading.side(column)
    if side is None:
        return ""
    if column == "published":
        return " to ".join(_published_number(end, unit) for end in reading.figure.published)
    shown = side.binds < ATOM and len(side.text) <= LONGEST and side.is_number
    return f"{side.text} = {_short(side, unit)}" if shown else _short(side, unit)


def _short(side: Quantity, unit: str) -> str:
    return f"{VARIES if side.varies else ''}{value_text(side.value, unit)}"


def tolerance_text(reading: Reading) -> str:
    """The allowed difference of the columns, and why; empty for a figure that is not compared."""
    figure = reading.figure
    if not figure.compared:
        return ""
    share, why = figure.within
    return f"{100 * share:g} % ({why})" if share else "exact"


def method_text(reading: Reading) -> str:
    """Where the found value comes from: `compiled for tpu:v5p, tpu:v6e`."""
    compiled = [method.removeprefix(COMPILED_FOR) for method in reading.by if method.startswith(COMPILED_FOR)]
    others = [method for method in reading.by if not method.startswith(COMPILED_FOR)]
    methods = [f"{COMPILED_FOR}{', '.join(compiled)}", *others] if compiled else others
    return ", ".join(methods) or "arithmetic"


def source_text(sources: Sequence[Citation]) -> str:
    return "; ".join(dict.fromkeys(citation.source.title for citation in sources))


def sentence(claim: Claim, word: str, readings: Sequence[Reading]) -> str:
    """The verdict's sentence: subject, both numbers, source; then `because` if the verdict is expected."""
    parts = [_evidence(claim, word, readings)]
    if word == Word.NOT_CHECKABLE:
        missing = next((reading.missing for reading in readings if reading.missing), "")
        parts.append(claim.because if claim.not_checkable else missing or claim.because)
    elif word == claim.expect:
        parts.append(claim.because)
    return " ".join(_end_sentence(part) for part in parts if part)


def disagreement(verdict: Verdict) -> str:
    """What disagrees, with both numbers; empty where nothing does."""
    chosen = _choose(verdict.word, verdict.readings)
    return _statement(chosen[0]) if chosen else ""


def _choose(word: str, readings: Sequence[Reading]) -> list[Reading]:
    """The readings that the verdict rests on."""
    deciding = [reading for reading in readings if reading.figure.decides]
    if word in AGAINST:
        return [reading for reading in deciding if reading.agrees is False and reading.against == word]
    against = [reading for reading in deciding if reading.agrees is False]
    if word == Word.VACUOUS:
        return against
    if word == Word.NOT_CHECKABLE:
        return against or [
            reading
            for reading in readings
            if reading.side("published") is not None or reading.side("follows") is not None
        ]
    return [reading for reading in deciding if reading.figure.compared]


def _evidence(claim: Claim, word: str, readings: Sequence[Reading]) -> str:
    chosen = _choose(word, readings)
    if not chosen:
        return ""
    first, rest = chosen[0], len(chosen) - 1
    by = f"{method_text(first)}; " if first.side("found") is not None and first.by else ""
    text = f"{_statement(first)} ({by}{source_text(claim.sources)})"
    if first.figure.premise:
        text = f"It shows something only where this holds. {text}"
    if word not in (*AGAINST, Word.VACUOUS, Word.NOT_CHECKABLE) and (rest or first.rows > 1):
        text += _how_many(first, rest)
    return text


def _statement(reading: Reading) -> str:
    where = f" at {reading.figure.row}" if reading.figure.row else ""
    name = reading.figure.name
    text = f"{name[:1].upper()}{name[1:]}{where}: {', '.join(_phrases(reading))}"
    if reading.figure.bounded:
        verb = "keeps to" if reading.agrees else "cannot be, for it has to be"
        text += f", which {verb} {bound_text(reading)}"
    return text


def _phrases(reading: Reading) -> Iterator[str]:
    """`7 is published`, `8 is found here`; of truths `so by what is published`, `not so here`."""
    own = "its own numbers" if reading.side("published") is not None else "what is published"
    columns = (
        ("published", "is published", "by what is published"),
        ("follows", f"follows from {own}", "by its own numbers"),
        ("found", "is found here", "here"),
    )
    sides = [(reading.side(column), column, phrase, by) for column, phrase, by in columns]
    truths = any(side is not None and isinstance(side.value, bool) for side, *_ in sides)
    for side, column, phrase, by in sides:
        if side is not None:
            text = _side_text(reading, column)
            yield f"{'so' if side.value else 'not so'} {by}" if truths else f"{text} {phrase}"


def _how_many(first: Reading, rest: int) -> str:
    rows = f"the {first.rows} rows" if first.rows > 1 else ""
    others = f"{rest} more {'figure' if rest == 1 else 'figures'}" if rest else ""
    parts = " and ".join(part for part in (rows, others) if part)
    verb = "agrees" if parts == "1 more figure" else "agree"
    share = f" within {100 * first.figure.within[0]:g} %" if first.figure.within[0] and not rest else ""
    return f"; {parts} {verb}{share}"


def _end_sentence(text: str) -> str:
    return text if not text or text.endswith((".", "…")) else f"{text}."
