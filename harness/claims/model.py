"""Claims: a published statement as data, its verdict, and the reader of a family's claims.py."""

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
    """Names of verdicts. CONTEXT is for claims that are not counted."""

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

ANY = "any"  # hardware of a claim that does not depend on hardware


@dataclass(frozen=True)
class EvidenceRequest:
    """Evidence that a claim's function requests: a compiled case, its cost, contract or check.

    `target` is the compilation target, `check` the id of the check.
    """

    kind: str
    case: Case
    target: str = ""
    check: str = ""

    COMPILE, COST, CONTRACT = "compile", "cost", "contract"

    @property
    def id(self) -> str:
        return f"{self.case.id} for {self.target}" if self.target else self.case.id


@dataclass(eq=False)
class Figure:
    """One number of a claim: compared, bounded, or only shown.

    It has up to three separate columns. `published` is the number in the document, or both ends of a range.
    `follows` is arithmetic on published numbers. `found` is counted, compiled or run by this project. Two or
    three columns are compared, and may differ by `within`, a fraction and its reason. One column with
    `at_most` or `at_least` is bounded. A single column is only shown, and decides nothing. The claim depends
    on a `premise`. `holds` is a condition that is published as true, and found true or false. `row` is the
    row of the table: figures with one name are one figure at several rows.
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
        """Convert plain numbers to quantities, and store the line in the claims.py."""
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
        """Number of columns with a value."""
        return sum((bool(self.published), self.follows is not None, self.found is not None))

    @property
    def compared(self) -> bool:
        return self.columns > 1

    @property
    def decides(self) -> bool:
        """Whether the figure counts for the claim's verdict."""
        return self.bounded or self.compared

    def quantities(self) -> list[Quantity]:
        given = (*self.published, self.follows, self.found, self.at_most, self.at_least)
        return [quantity for quantity in given if quantity is not None]


class Claim:
    """A published statement, with the function that yields the figures for its verdict.

    It decorates that function. The first paragraph of the docstring is the published statement. The rest is
    the reasoning for the verdict `expect`, or what is missing for "not checkable here". `on` is the hardware
    of the published numbers, or "any" if they do not depend on hardware. `target` are the possible targets
    for it. `needs` is the open question that only the hardware would settle, `headline` is the sentence at
    the top of the page, and `given` are the workload's fields that differ from the defaults.
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
            raise UsageError(f"duplicate id {self.id}; it is also in {before.where}")
        return self

    @property
    def name(self) -> str:
        return f"{self.family}/{self.id}"

    @property
    def not_checkable(self) -> bool:
        return self.expect == Word.NOT_CHECKABLE

    @property
    def context(self) -> bool:
        """Whether it belongs to no pull request. It is then not counted, and is on a separate page."""
        return not any(citation.source.of for citation in self.sources)


@dataclass(frozen=True)
class FigureResult:
    """Result of a figure, at the row that disagrees most.

    `agrees` is None if the figure is only shown, or undecided for the reason `missing`. `against` is the
    verdict for a disagreement. `rows` counts the decided rows. `by` are the origins of the values, and
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
        """Value in a column, or the first end of a published range; None if it has none."""
        ends = self.figure.published[:1] if column == "published" else (getattr(self.figure, column),)
        return next((each for each in ends if each is not None and not each.missing), None)


@dataclass(frozen=True)
class ClaimVerdict:
    """ClaimVerdict on a claim. `judged` follows from its figures; `word` is shown and counted.

    `incomplete` is the reason why figures are missing on this machine, or empty.
    """

    claim: Claim
    judged: Word
    sentence: str
    results: tuple[FigureResult, ...] = ()
    incomplete: str = ""

    @property
    def word(self) -> Word:
        return Word.CONTEXT if self.claim.context else self.judged

    @property
    def unexpected(self) -> bool:
        """Whether the verdict differs from the expected one, and no figure is missing."""
        return not self.incomplete and self.judged != self.claim.expect


@dataclass(frozen=True)
class ContractOutcome:
    """Result of a case's contract on this machine; `status` is None if it did not run.

    `checks` has whether each requested check passed; None if it was not decided.
    """

    status: str | None
    reason: str = ""
    checks: Mapping[str, bool | None] = field(default_factory=dict[str, "bool | None"])


ClaimEvidence = Mapping[
    EvidenceRequest, CompileResult | Cost | ContractOutcome | str
]  # a text is the reason for no cost


def claims_of(family: FamilyInfo) -> tuple[Claim, ...]:
    """Read the claims.py next to a family's module; empty if there is no such file.

    UsageError `claims.py:LINE: …` for unknown names and contradictions.
    """
    path = Path(family.file).with_name("claims.py")
    if not path.is_file():
        return ()
    with located(str(path)):
        names = runpy.run_path(str(path))
    for name, value in names.items():
        if isinstance(value, Table):
            value.id = name.lower().replace("_", "-")
    claims = tuple(value for value in names.values() if isinstance(value, Claim))
    for claim in claims:
        with located(claim.file, claim.where):
            _complete(claim, family)
    return claims


def _complete(claim: Claim, family: FamilyInfo) -> None:
    """Set a claim's family and shape."""
    if claim.expect not in VERDICTS:
        raise ValueError(f'unknown verdict "{claim.expect}"{nearest(claim.expect, VERDICTS)}')
    if not claim.says:
        raise ValueError(f"{claim.id} has no docstring; write the published statement there")
    of = [citation.source.of for citation in claim.sources if citation.source.of]
    if not claim.sources or 0 < len(of) < len(claim.sources):
        raise ValueError(
            f"{claim.id}: give a pull request (of=…) to all of its sources, or to none for context"
        )
    for name in claim.targets:
        accelerators.target(name)
    claim.family = family.name
    claim.given = {name: family.field(name).parse(value) for name, value in claim.given.items()}
    claim.shape = {field.name: field.default for field in family.fields if not field.required} | claim.given


@contextmanager
def located(file: str, where: str = "") -> Generator[None]:
    """Convert errors of a file's code in this block to UsageError with its line."""
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
