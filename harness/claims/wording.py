"""The wording of figures and verdicts: numbers, arithmetic with numbers in the place of names, sentences."""

import ast
import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from harness.catalog.accelerators import HOST
from harness.claims.expression import MATHS, Expression, Value
from harness.claims.model import AGAINST, VARIES, Citation, Claim, FigureValue, Reading, Verdict, Word
from harness.core.units import format_bytes

LARGE = 1e9  # literals from here on keep an exponent
LONG = 10**6  # whole ones from here on are grouped
_HOST = re.compile(rf"""["']{HOST}["']|\b(trace_bytes|fact)\(""")
Evaluate = Callable[[Expression, Mapping[str, Value]], Value]


def arithmetic_text(expression: Expression, names: Mapping[str, Value], evaluate: Evaluate) -> str:
    """`dense / nsa` → `7.61 / 1.73`; empty where there is no operation to follow."""
    filled = _Substitution(names, evaluate).visit(copy.deepcopy(expression.tree))
    if isinstance(filled, ast.Name | ast.Constant):
        return ""
    return ast.unparse(filled).replace(" ** ", "^").replace(" * ", " · ")


class _Substitution(ast.NodeTransformer):
    """Puts values in the place of names and calls; mathematics stays as it is written."""

    def __init__(self, names: Mapping[str, Value], evaluate: Evaluate) -> None:
        self.names, self.evaluate = names, evaluate

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return _name_node(self.names[node.id]) if node.id in self.names else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """`1e12` stays that, and is not written out."""
        value = node.value
        if isinstance(value, float) and abs(value) >= LARGE and float(f"{value:.6g}") == value:
            return ast.Name(short_exponent(f"{value:.6g}"))
        if isinstance(value, int) and value >= LONG:
            return _name_node(value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id not in MATHS:
            value = self.evaluate(Expression("", node), self.names)
            return _name_node(value, mark=VARIES if varies(ast.unparse(node)) else "")
        node.args = [self.visit(argument) for argument in node.args]
        return node


def varies(text: str) -> bool:
    """Whether an expression depends on the host's compiler, and so may differ on another processor."""
    return _HOST.search(text) is not None


def _name_node(value: Value, mark: str = "") -> ast.Name:
    """A name node that is unparsed to a value's usual notation: `549 755 813 888`, `7.61`, `true`."""
    if isinstance(value, bool):
        return ast.Name("true" if value else "false")
    if isinstance(value, str):
        return ast.Name(short_hash(value))
    whole = value == int(value) and abs(value) < 1e15
    text = grouped_digits(value) if whole else short_exponent(f"{value:.6g}")
    return ast.Name(f"{mark}{text}")


def short_hash(text: str) -> str:
    """The beginning of a program's hash; any other word as it is."""
    return f"{text[:15]}…" if text.startswith("sha256:") else text


def grouped_digits(whole: float) -> str:
    """A whole number with narrow spaces between thousands."""
    return f"{whole:,.0f}".replace(",", "\u202f")


def short_exponent(text: str) -> str:
    """A number's text whose exponent has no padding: `1e9`."""
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


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


def published_text(reading: Reading) -> str:
    """The published number with all its digits, or range; empty where nothing was published."""
    figure = reading.figure
    if reading.published is None:
        return ""
    ends = [
        _published_number(side, figure.unit, expression)
        for side, expression in zip((reading.published, reading.upto), figure.published, strict=False)
        if side is not None
    ]
    return " to ".join(ends)


def _published_number(side: FigureValue, unit: str, expression: Expression) -> str:
    """A number written out, or in a cell, keeps its digits (`26581.04`); arithmetic has four."""
    value = side.value
    if isinstance(value, bool | str) or unit == BYTES:
        return value_text(value, unit)
    digits = _PLAIN.fullmatch(f"{value:.10g}" if expression.text.isidentifier() else expression.text)
    if not digits:
        return value_text(value, unit)
    whole, fraction = digits.groups("")
    return _with_unit(f"{grouped_digits(int(whole))}{fraction}", unit)


def follows_text(reading: Reading) -> str:
    """What follows from the published numbers, with the arithmetic: `7.61 / 1.73 = 4.399`."""
    return _with_arithmetic(reading.follows, reading.figure.unit)


def found_text(reading: Reading) -> str:
    """The value found here, with its arithmetic; marked ≈ where it depends on the host's compiler."""
    return _with_arithmetic(reading.found, reading.figure.unit)


def bound_text(reading: Reading) -> str:
    """The bounds of a figure: `≥ 4 and ≤ 56.87`."""
    bounds = (("≥", reading.at_least), ("≤", reading.at_most))
    return " and ".join(f"{sign} {_short(side, reading.figure.unit)}" for sign, side in bounds if side)


def column_texts(reading: Reading) -> tuple[str, str, str]:
    """The three columns of a figure; bounds stand beside what is found."""
    found = found_text(reading)
    if reading.figure.bounded and not reading.missing:
        found = f"{found}; {bound_text(reading)}".removeprefix("; ")
    return published_text(reading), follows_text(reading), found


def _with_arithmetic(side: FigureValue | None, unit: str) -> str:
    if side is None:
        return ""
    shown = 0 < len(side.arithmetic) <= LONGEST and not isinstance(side.value, bool | str)
    return f"{side.arithmetic} = {_short(side, unit)}" if shown else _short(side, unit)


def _short(side: FigureValue, unit: str) -> str:
    marked = side.varies and not isinstance(side.value, bool | str)
    return f"{VARIES if marked else ''}{value_text(side.value, unit)}"


def tolerance_text(reading: Reading) -> str:
    """The allowed difference of the columns, and why; empty for a figure that is not compared."""
    figure = reading.figure
    if not figure.compared:
        return ""
    if not figure.within:
        return "exact"
    return f"{100 * figure.within:g} %{f' ({figure.why})' if figure.why else ''}"


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
        parts.append(claim.not_checkable or missing or claim.because)
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
        return against or [reading for reading in readings if reading.published or reading.follows]
    return [reading for reading in deciding if reading.figure.compared]


def _evidence(claim: Claim, word: str, readings: Sequence[Reading]) -> str:
    chosen = _choose(word, readings)
    if not chosen:
        return ""
    first = chosen[0]
    text = _in_words(first, claim)
    rest = len(chosen) - 1
    if word not in (*AGAINST, Word.VACUOUS, Word.NOT_CHECKABLE) and (rest or first.rows > 1):
        text += _how_many(first, rest)
    return text


def _in_words(reading: Reading, claim: Claim) -> str:
    text = _statement(reading)
    by = f"{method_text(reading)}; " if reading.found is not None and reading.by else ""
    if reading.figure.premise:
        text = f"It shows something only where this holds. {text}"
    return f"{text} ({by}{source_text(claim.sources)})"


def _statement(reading: Reading) -> str:
    where = f" at {reading.row}" if reading.row else ""
    name = reading.figure.name
    text = f"{name[:1].upper()}{name[1:]}{where}: {', '.join(_phrases(reading))}"
    if reading.figure.bounded:
        verb = "keeps to" if reading.agrees else "cannot be, for it has to be"
        text += f", which {verb} {bound_text(reading)}"
    return text


def _phrases(reading: Reading) -> Iterator[str]:
    """`7 is published`, `8 is found here`; of truths `so by what is published`, `not so here`."""
    own = "its own numbers" if reading.published else "what is published"
    columns = (
        (reading.published, published_text, "is published", "by what is published"),
        (reading.follows, follows_text, f"follows from {own}", "by its own numbers"),
        (reading.found, found_text, "is found here", "here"),
    )
    truths = any(side is not None and isinstance(side.value, bool) for side, *_ in columns)
    for side, text_of, phrase, by in columns:
        if side is not None:
            yield f"{'so' if side.value else 'not so'} {by}" if truths else f"{text_of(reading)} {phrase}"


def _how_many(first: Reading, rest: int) -> str:
    rows = f"the {first.rows} rows" if first.rows > 1 else ""
    others = f"{rest} more {'figure' if rest == 1 else 'figures'}" if rest else ""
    parts = " and ".join(part for part in (rows, others) if part)
    verb = "agrees" if parts == "1 more figure" else "agree"
    share = f" within {100 * first.figure.within:g} %" if first.figure.within and not rest else ""
    return f"; {parts} {verb}{share}"


def _end_sentence(text: str) -> str:
    return text if not text or text.endswith((".", "…")) else f"{text}."
