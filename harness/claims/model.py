"""The claim: a published statement as data, its verdict, and reading a family's claims.py."""

import inspect
import runpy
import sys
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness.catalog import accelerators
from harness.catalog.catalog import FamilyInfo
from harness.claims.documents import Citation, Source, Table
from harness.claims.quantity import Quantity, number
from harness.core.case import Case
from harness.core.errors import UsageError, nearest
from harness.core.record import Cost
from harness.core.units import format_count
from harness.core.workload import Value as FieldValue
from harness.run.compile.request import CompileResult


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


@dataclass(frozen=True)
class Need:
    """Evidence that a claim's function asks for: a compiled case, its cost, contract or check.

    `target` is the compilation target, `check` the id of the check.
    """

    kind: str
    case: Case
    target: str = ""
    check: str = ""

    COMPILE, COST, JUDGE = "compile", "cost", "judge"

    @property
    def id(self) -> str:
        return f"{self.case.id} for {self.target}" if self.target else self.case.id


@dataclass(eq=False)
class Figure:
    """One number of a claim: compared, bounded, or only shown.

    Its three columns never mix: `published`, as the document has it (of two both ends of a range);
    `follows`, arithmetic on published numbers; `found`, counted, compiled or run by this project. Two or
    three columns are compared, and may differ by `within`, a share and its reason. One column with
    `at_most` or `at_least` is bounded. One column alone is shown and decides nothing. A `premise` must hold
    for the claim to show anything. `holds` is a condition, published as true and found so or not. `row` is
    that of the table that it was made for: figures of one name are one figure at several rows.
    """

    name: str
    unit: str = ""
    published: Any = ()
    follows: Any = None
    found: Any = None
    within: Any = (0.0, "")
    at_most: Any = None
    at_least: Any = None
    holds: Any = None
    premise: bool = False
    row: Any = ""
    where: str = ""

    def __post_init__(self) -> None:
        """Make quantities of plain numbers, and note the place in the claims.py."""
        caller = sys._getframe(2)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - its author's line
        self.where = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        if self.holds is not None:
            self.published, self.found = True, self.holds
        ends = self.published if isinstance(self.published, tuple) else (self.published,)
        self.published = tuple(map(number, ends))
        for column in ("follows", "found", "at_most", "at_least"):
            if (given := getattr(self, column)) is not None:
                setattr(self, column, number(given))
        label = number(self.row).value
        self.row = format_count(label) if isinstance(label, int) else label

    @property
    def bounded(self) -> bool:
        return self.at_most is not None or self.at_least is not None

    @property
    def columns(self) -> int:
        """How many of the three it has."""
        return sum((bool(self.published), self.follows is not None, self.found is not None))

    @property
    def compared(self) -> bool:
        return self.columns > 1

    @property
    def decides(self) -> bool:
        """Whether the figure counts for the claim's verdict; else it is only shown."""
        return self.bounded or self.compared

    def quantities(self) -> list[Quantity]:
        given = (*self.published, self.follows, self.found, self.at_most, self.at_least)
        return [quantity for quantity in given if quantity is not None]


class Claim:
    """A published statement, and the function that yields the figures which decide its verdict.

    It decorates that function. The first paragraph of the docstring is what was published; the rest is the
    reasoning behind the verdict `expect`, which for "not checkable here" is what is missing. `on` is the
    hardware that the numbers were published for, "any" where none can change them, and `target` what that
    may have been here. `needs` is the question that only the hardware would settle, `headline` the claim's
    sentence at the head of the page, `given` the fields of the family's workload that are not its defaults.
    """

    def __init__(
        self,
        expect: str,
        *sources: Source | Citation,
        on: str,
        table: Any = None,
        target: Any = (),
        needs: Any = "",
        headline: Any = "",
        **given: Any,
    ) -> None:
        self.expect, self.hardware = expect, on
        self.table: Table | None = table
        self.sources = tuple(each if isinstance(each, Citation) else Citation(each) for each in sources)
        self.targets: tuple[str, ...] = (target,) if isinstance(target, str) else target
        self.needs: str = needs
        self.headline: str = headline
        self.given: Mapping[str, FieldValue] = given
        self.shape: Mapping[str, FieldValue] = {}  # every field's value, once the family is known
        self.family = ""

    def __call__(self, function: Callable[[Any], Any]) -> "Claim":
        code = function.__code__
        self.figures, self.file = function, code.co_filename
        self.id, self.where = function.__name__.replace("_", "-"), f"{code.co_filename}:{code.co_firstlineno}"
        says, _, because = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
        self.says, self.because = " ".join(says.split()), " ".join(because.split())
        if isinstance(before := function.__globals__.get(function.__name__), Claim):
            raise UsageError(f"duplicate id {self.id}; it stands in {before.where} too")
        return self

    @property
    def name(self) -> str:
        return f"{self.family}/{self.id}"

    @property
    def not_checkable(self) -> bool:
        return self.expect == Word.NOT_CHECKABLE

    @property
    def context(self) -> bool:
        """Whether it is of no pull request, so that it stands on a page of its own and is not counted."""
        return not any(citation.source.of for citation in self.sources)


@dataclass(frozen=True)
class Reading:
    """A figure at the row that disagrees most.

    `agrees` None: the figure is only shown, or undecided for the reason `missing`. `against` is the verdict
    that a disagreement leads to. `rows` counts the decided rows; `by` names where the values come from, and
    `targets` those compiled for or run on.
    """

    figure: Figure
    agrees: bool | None = None
    against: str = ""
    rows: int = 0
    missing: str = ""
    by: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def side(self, column: str) -> Quantity | None:
        """The value in a column, if it has one; of a published range its first end."""
        held = self.figure.published[:1] if column == "published" else (getattr(self.figure, column),)
        return next((each for each in held if each is not None and not each.missing), None)


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


@dataclass(frozen=True)
class Judged:
    """The result of a case's contract on this machine; `status` is None where it did not run.

    `checks` has whether each requested check passed; None where it was not decided.
    """

    status: str | None
    reason: str = ""
    checks: Mapping[str, bool | None] = field(default_factory=dict[str, "bool | None"])


ClaimEvidence = Mapping[Need, CompileResult | Cost | Judged | str]  # a text is why there is no cost


def claims_of(family: FamilyInfo) -> tuple[Claim, ...]:
    """The claims of the claims.py beside a family's module, in its order; empty without that file.

    UsageError: `claims.py:LINE: …` for whatever is unknown or contradicts itself.
    """
    path = Path(family.file).with_name("claims.py")
    if not path.is_file():
        return ()
    with placed(str(path)):
        names = runpy.run_path(str(path))
    for name, value in names.items():
        if isinstance(value, Table):
            value.id = name.lower().replace("_", "-")
    claims = tuple(value for value in names.values() if isinstance(value, Claim))
    for claim in claims:
        with placed(claim.file, claim.where):
            _complete(claim, family)
    return claims


def _complete(claim: Claim, family: FamilyInfo) -> None:
    """Give a claim its family, and the shape that is meant by what it gives."""
    if claim.expect not in VERDICTS:
        raise ValueError(f'unknown verdict "{claim.expect}"{nearest(claim.expect, VERDICTS)}')
    if not claim.says:
        raise ValueError(f"{claim.id} says nothing; its docstring is what was published")
    of = [citation.source.of for citation in claim.sources if citation.source.of]
    if not claim.sources or 0 < len(of) < len(claim.sources):
        raise ValueError(
            f"{claim.id} needs sources that all are of a pull request (of=…), or for context none"
        )
    for name in claim.targets:
        accelerators.target(name)
    claim.family = family.name
    claim.given = {name: family.field(name).parse(value) for name, value in claim.given.items()}
    claim.shape = {field.name: field.default for field in family.fields if not field.required} | claim.given


@contextmanager
def placed(file: str, where: str = "") -> Generator[None]:
    """UsageError, with the line of the file, for whatever its code raises in this block."""
    try:
        yield
    except Exception as error:  # an author's code may raise anything
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
        ]
        if isinstance(error, SyntaxError) and error.filename == file:
            lines = [error.lineno]
        place = f"{file}:{lines[-1]}" if lines else where or file
        kind = "" if isinstance(error, UsageError | ValueError) else f"{type(error).__name__}: "
        raise UsageError(f"{place}: {kind}{error}") from None
