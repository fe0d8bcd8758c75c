"""The claim: a published statement as data, the documents that state it, and its verdict."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from harness.claims.expression import Expression
from harness.claims.expression import Value as ExpressionValue
from harness.core.case import Case
from harness.core.record import STATUSES
from harness.core.workload import Value


class Word(StrEnum):
    """A verdict in a word; CONTEXT is that of a claim which is not counted."""

    CONTRADICTED = "contradicted"
    IMPLAUSIBLE = "implausible"
    INCONSISTENT = "inconsistent"
    VACUOUS = "vacuous"
    REPRODUCED = "reproduced"
    ELSEWHERE = "reproduced on another target"
    ADDS_UP = "adds up"
    NOT_CHECKABLE = "not checkable here"
    CONTEXT = "context"


VERDICTS = tuple(word for word in Word if word != Word.CONTEXT)
AGAINST = (Word.CONTRADICTED, Word.IMPLAUSIBLE, Word.INCONSISTENT)  # strongest first

ANY = "any"  # the hardware of a claim that no hardware can change

VARIES = "≈\u202f"  # marks a number of the host's compiler, which may differ on another processor

STATUS_WORDS: Mapping[str, ExpressionValue] = {status: status for status in STATUSES}


@dataclass(frozen=True)
class Source:
    """A document that published the numbers.

    `of` names the pull request that it belongs to; empty for context. `kept` is the id of the stored text
    that quoted numbers are checked against; empty where no text was kept.
    """

    id: str
    title: str
    of: str = ""
    version: str = ""
    url: str = ""
    kept: str = ""


@dataclass(frozen=True)
class Citation:
    """A source, and the lines of its stored text that have the number (`46,51` or `28-39`; may be empty)."""

    source: Source
    lines: str = ""


@dataclass(frozen=True)
class Need:
    """Evidence that an expression needs: a compiled case, its cost, contract, check, or speedup.

    `target` is the compilation target, `check` the id of the check, `against` the baseline's case.
    """

    kind: str
    case: Case
    target: str = ""
    check: str = ""
    against: Case | None = None

    COMPILE, COST, JUDGE, TIME = "compile", "cost", "judge", "time"

    @property
    def id(self) -> str:
        return f"{self.case.id} for {self.target}" if self.target else self.case.id


@dataclass(frozen=True)
class Table:
    """A published table. A cell without a number has None, or its word (`OOM`).

    `written` has every cell as the file spells it: `3.70`, which as a number is 3.7.
    """

    id: str
    sources: tuple[Citation, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[float | str | None, ...], ...]
    written: tuple[tuple[str, ...], ...]
    units: str = "ms"

    def numbers(self, row: tuple[float | str | None, ...]) -> dict[str, float]:
        """The columns of a row that hold a number."""
        return {
            name: cell for name, cell in zip(self.columns, row, strict=True) if isinstance(cell, int | float)
        }


@dataclass(frozen=True)
class Figure:
    """One number of a claim: compared, bounded, or only shown.

    Its three columns never mix: `published`, as the document has it (two expressions are both ends of a
    range); `follows`, arithmetic on published numbers; `found`, counted, compiled or run by this project.
    Two or three columns are compared, and may differ by the share `within`, for the reason `why`. One column
    with `at_most` or `at_least` is bounded. One column alone is shown and decides nothing.
    A `premise` must hold for the claim to show anything. `each`: evaluated for every row of the table.
    """

    name: str
    where: str
    unit: str = ""
    published: tuple[Expression, ...] = ()
    follows: Expression | None = None
    found: Expression | None = None
    within: float = 0.0
    why: str = ""
    at_most: Expression | None = None
    at_least: Expression | None = None
    premise: bool = False
    each: bool = False

    @property
    def sides(self) -> int:
        """How many of the three columns the figure has."""
        return sum((bool(self.published), self.follows is not None, self.found is not None))

    @property
    def bounded(self) -> bool:
        return self.at_most is not None or self.at_least is not None

    @property
    def compared(self) -> bool:
        return self.sides > 1

    @property
    def decides(self) -> bool:
        """Whether the figure counts for the claim's verdict; else it is only shown."""
        return self.bounded or self.compared

    def expressions(self) -> tuple[Expression, ...]:
        single = (self.follows, self.found, self.at_most, self.at_least)
        return (*self.published, *(expression for expression in single if expression is not None))


@dataclass(frozen=True)
class Claim:
    """A published statement, and the figures that decide its verdict.

    `shape` has every known field of the family's workload; `given` names those that the file writes out.
    `targets` are those that the published hardware may have been. `because` is the reasoning behind the
    expected verdict, `needs` the question that only the hardware would settle, `not_checkable` what is
    missing for a verdict, `headline` the claim's sentence at the head of the page. `context`: it belongs to
    none of the pull requests, so it is shown on a page of its own and not counted.
    """

    family: str
    id: str
    where: str
    says: str
    sources: tuple[Citation, ...]
    hardware: str
    expect: str
    shape: Mapping[str, Value] = field(default_factory=dict[str, Value])
    given: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    targets: tuple[str, ...] = ()
    because: str = ""
    needs: str = ""
    not_checkable: str = ""
    headline: str = ""
    context: bool = False

    @property
    def name(self) -> str:
        return f"{self.family}/{self.id}"

    def names(self) -> dict[str, ExpressionValue]:
        """The names that its expressions may use, with their values: the shape's fields and the statuses."""
        return {**STATUS_WORDS, **{name: value for name, value in self.shape.items() if value is not None}}

    def points(self, figure: Figure) -> tuple[tuple[str, dict[str, ExpressionValue]], ...]:
        """The points where a figure is evaluated, once or at every row of the table: (row, names there)."""
        if not figure.each or self.table is None:
            return (("", self.names()),)
        return tuple((str(row[0]), {**self.names(), **self.table.numbers(row)}) for row in self.table.rows)


@dataclass(frozen=True)
class FigureValue:
    """The value of one column of a figure, and its arithmetic with numbers filled in (`7.61 / 1.73`).

    `varies`: the host's compiler decided it, so that another processor may give another number.
    """

    value: ExpressionValue
    arithmetic: str = ""
    varies: bool = False


@dataclass(frozen=True)
class Reading:
    """A figure's values at the row that disagrees most.

    `agrees` None: the figure is only shown, or undecided for the reason `missing`. `against` is the verdict
    that a disagreement leads to. `rows` counts the decided rows; `by` names where the found value comes
    from; `targets` are those compiled for or run on; `tested`: something was compiled or run for it.
    """

    figure: Figure
    published: FigureValue | None = None
    upto: FigureValue | None = None
    follows: FigureValue | None = None
    found: FigureValue | None = None
    at_most: FigureValue | None = None
    at_least: FigureValue | None = None
    agrees: bool | None = None
    against: str = ""
    row: str = ""
    rows: int = 0
    missing: str = ""
    by: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    tested: bool = False


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim. `judged` follows from its figures; `word` is shown and counted.

    `incomplete` names what this machine lacked or failed at, so that figures are left out; else empty.
    """

    claim: Claim
    judged: Word
    sentence: str
    readings: tuple[Reading, ...] = ()
    incomplete: str = ""

    @property
    def word(self) -> Word:
        return Word.CONTEXT if self.claim.context else self.judged

    @property
    def unexpected(self) -> bool:
        """Whether the verdict differs from the one the file expects, though nothing was left out."""
        return not self.incomplete and self.judged != self.claim.expect
