"""Wording of figures and verdicts: numbers, arithmetic and sentences."""

import re
from collections.abc import Iterator, Sequence

from harness.claims.model import AGAINST, Citation, Claim, ClaimVerdict, FigureResult, Word
from harness.claims.quantity import ATOM, VARIES, Quantity, Value, grouped_digits, short_exponent, short_hash
from harness.core.units import format_bytes

BYTES = "B"
EXPONENTS = 10**7  # larger fractional numbers have an exponent
GROUPED = 10**9  # smaller whole numbers are written out
COMPILED_FOR = "compiled for "
LONGEST = 90  # characters of arithmetic in a cell or a sentence
_PLAIN = re.compile(r"(\d[\d_]*)(\.\d+)?")


def value_text(value: Value, unit: str = "") -> str:
    """`285212672`, `B` → `272.0 MiB`; booleans as yes and no; program hashes shortened."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return short_hash(value)
    return format_bytes(value, 4) if unit == BYTES else _with_unit(_number(value), unit)


def _with_unit(text: str, unit: str) -> str:
    return f"{text}{unit}" if unit in {"×", ""} else f"{text} {unit}"


def _number(value: float) -> str:
    """Four significant digits, or all of a whole number, with a narrow space between thousands."""
    if value == int(value) and abs(value) < GROUPED:
        return grouped_digits(int(value))
    if 1_000 <= abs(value) < EXPONENTS:
        return grouped_digits(round(value, 3 - len(str(int(abs(value)))) + 1))
    return short_exponent(f"{value:.4g}")


def _published_number(side: Quantity, unit: str) -> str:
    """Published number with all its digits (`26581.04`); results of arithmetic have four."""
    digits = _PLAIN.fullmatch(side.text) if side.binds == ATOM and side.is_number and unit != BYTES else None
    if not digits:
        return value_text(side.value, unit)
    whole, fraction = digits.groups("")
    return _with_unit(f"{grouped_digits(int(whole))}{fraction}", unit)


def bound_text(result: FigureResult) -> str:
    """The bounds of a figure: `≥ 4 and ≤ 56.87`."""
    bounds = (("≥", result.side("at_least")), ("≤", result.side("at_most")))
    return " and ".join(
        f"{sign} {_short(side, result.figure.unit)}" for sign, side in bounds if side is not None
    )


def column_texts(result: FigureResult) -> tuple[str, str, str]:
    """Texts of a figure's three columns; bounds are in the last one."""
    found = _side_text(result, "found")
    if result.figure.bounded and not result.missing:
        found = f"{found}; {bound_text(result)}".removeprefix("; ")
    return _side_text(result, "published"), _side_text(result, "follows"), found


def _side_text(result: FigureResult, column: str) -> str:
    """Text of a column, with its arithmetic: `7.61 / 1.73 = 4.399`; empty if it has no value.

    A published number has all its digits, or both ends of its range. Values from the host's compiler are
    marked with ≈.
    """
    unit, side = result.figure.unit, result.side(column)
    if side is None:
        return ""
    if column == "published":
        return " to ".join(_published_number(end, unit) for end in result.figure.published)
    shown = side.binds < ATOM and len(side.text) <= LONGEST and side.is_number
    return f"{side.text} = {_short(side, unit)}" if shown else _short(side, unit)


def _short(side: Quantity, unit: str) -> str:
    return f"{VARIES if side.varies else ''}{value_text(side.value, unit)}"


def tolerance_text(result: FigureResult) -> str:
    """Allowed difference of the columns, with its reason; empty for a figure that is not compared."""
    figure = result.figure
    if not figure.compared:
        return ""
    share, why = figure.within
    return f"{100 * share:g} % ({why})" if share else "exact"


def method_text(result: FigureResult) -> str:
    """Origin of the found value: `compiled for tpu:v5p, tpu:v6e`."""
    compiled = [method.removeprefix(COMPILED_FOR) for method in result.by if method.startswith(COMPILED_FOR)]
    others = [method for method in result.by if not method.startswith(COMPILED_FOR)]
    methods = [f"{COMPILED_FOR}{', '.join(compiled)}", *others] if compiled else others
    return ", ".join(methods) or "arithmetic"


def source_text(sources: Sequence[Citation]) -> str:
    return "; ".join(dict.fromkeys(citation.source.title for citation in sources))


def sentence(claim: Claim, word: str, results: Sequence[FigureResult]) -> str:
    """Sentence of a verdict: subject, both numbers, source; then `because` if it is expected."""
    parts = [_evidence(claim, word, results)]
    if word == Word.NOT_CHECKABLE:
        missing = next((result.missing for result in results if result.missing), "")
        parts.append(claim.because if claim.not_checkable else missing or claim.because)
    elif word == claim.expect:
        parts.append(claim.because)
    return " ".join(_end_sentence(part) for part in parts if part)


def disagreement(verdict: ClaimVerdict) -> str:
    """Disagreeing figure with both numbers; empty if there is none."""
    chosen = _choose(verdict.word, verdict.results)
    return _statement(chosen[0]) if chosen else ""


def _choose(word: str, results: Sequence[FigureResult]) -> list[FigureResult]:
    """The figures that decide the verdict."""
    deciding = [result for result in results if result.figure.decides]
    if word in AGAINST:
        return [result for result in deciding if result.agrees is False and result.against == word]
    against = [result for result in deciding if result.agrees is False]
    if word == Word.VACUOUS:
        return against
    if word == Word.NOT_CHECKABLE:
        return against or [
            result
            for result in results
            if result.side("published") is not None or result.side("follows") is not None
        ]
    return [result for result in deciding if result.figure.compared]


def _evidence(claim: Claim, word: str, results: Sequence[FigureResult]) -> str:
    chosen = _choose(word, results)
    if not chosen:
        return ""
    first, rest = chosen[0], len(chosen) - 1
    by = f"{method_text(first)}; " if first.side("found") is not None and first.by else ""
    text = f"{_statement(first)} ({by}{source_text(claim.sources)})"
    if first.figure.premise:
        text = f"The claim depends on a premise. {text}"
    if word not in (*AGAINST, Word.VACUOUS, Word.NOT_CHECKABLE) and (rest or first.rows > 1):
        text += _how_many(first, rest)
    return text


def _statement(result: FigureResult) -> str:
    where = f" at {result.figure.row}" if result.figure.row else ""
    name = result.figure.name
    text = f"{name[:1].upper()}{name[1:]}{where}: {', '.join(_phrases(result))}"
    if result.figure.bounded:
        verb = "meets" if result.agrees else "violates"
        text += f", which {verb} the bound {bound_text(result)}"
    return text


def _phrases(result: FigureResult) -> Iterator[str]:
    """`7 is published`, `8 is found here`; for conditions `true as published`, `false as found here`."""
    own = "its own numbers" if result.side("published") is not None else "what is published"
    columns = (
        ("published", "is published", "as published"),
        ("follows", f"follows from {own}", "by its own numbers"),
        ("found", "is found here", "as found here"),
    )
    sides = [(result.side(column), column, phrase, by) for column, phrase, by in columns]
    booleans = any(side is not None and isinstance(side.value, bool) for side, *_ in sides)
    for side, column, phrase, by in sides:
        if side is not None:
            text = _side_text(result, column)
            yield f"{'true' if side.value else 'false'} {by}" if booleans else f"{text} {phrase}"


def _how_many(first: FigureResult, rest: int) -> str:
    rows = f"the {first.rows} rows" if first.rows > 1 else ""
    others = f"{rest} more {'figure' if rest == 1 else 'figures'}" if rest else ""
    parts = " and ".join(part for part in (rows, others) if part)
    verb = "agrees" if parts == "1 more figure" else "agree"
    share = f" within {100 * first.figure.within[0]:g} %" if first.figure.within[0] and not rest else ""
    return f"; {parts} {verb}{share}"


def _end_sentence(text: str) -> str:
    return text if not text or text.endswith((".", "…")) else f"{text}."
