"""A claim: a published number as data, and what became of it here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.spec.case import Case
from harness.spec.expression import Expression
from harness.spec.expression import Value as Found
from harness.spec.record import STATUSES
from harness.spec.workload import Value

REPRODUCED = "reproduced"
ELSEWHERE = "reproduced on another target"
CONTRADICTED = "contradicted"
IMPLAUSIBLE = "implausible"
NOT_CHECKABLE = "not checkable here"
VERDICTS: Mapping[str, str] = {
    REPRODUCED: "every figure that can be had agrees, within the tolerance stated beside it",
    ELSEWHERE: "every figure agrees, for another target than the hardware that was published for",
    CONTRADICTED: "at least one figure of ours differs by more than its tolerance",
    IMPLAUSIBLE: "a bound of the hardware, or the claim's own arithmetic, speaks against it",
    NOT_CHECKABLE: "it takes hardware, or a configuration, that is not to be had; bounds may be checked",
}

ANY = "any"  # the hardware of a claim that no hardware can change

COMPILED = (
    "temp_bytes",
    "argument_bytes",
    "output_bytes",
    "alias_bytes",
    "peak_bytes",
    "planned_bytes",
    "generated_code_bytes",
    "flops",
    "bytes_accessed",
    "optimal_s",
)
IDENTITY = ("program", "calls")
ANALYTIC = ("cost_flops", "cost_bytes", "cost_dense_flops")
JUDGED = "status"
DEVICE = ("memory", "peak", "bandwidth")
TABLE = ("first_win", "crossover")
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(COMPILED, ("implementation", "target")),
    "program": ("implementation", "target"),
    "calls": ("implementation", "target", "custom call"),
    **dict.fromkeys(ANALYTIC, ("implementation",)),
    JUDGED: ("implementation",),
    **dict.fromkeys(DEVICE, ("target",)),
    "first_win": ("column", "column"),
    "crossover": ("column", "column"),
}
STATUS_WORDS: Mapping[str, Found] = {status: status for status in STATUSES}


@dataclass(frozen=True)
class Need:
    """What an expression asks for: a case compiled for a target, its analytic cost, or its contract."""

    kind: str
    case: Case
    target: str = ""

    COMPILE, COST, JUDGE = "compile", "cost", "judge"

    @property
    def id(self) -> str:
        return f"{self.case.id} for {self.target}" if self.target else self.case.id


@dataclass(frozen=True)
class Table:
    """Numbers as published. A cell that held none has None or what stood there (`OOM`).

    `written` has every cell as the file spells it: `3.70`, which as a number is 3.7.
    """

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
    """One number of a claim: compared with one of ours, held to a bound, or only shown.

    Compared: `theirs`, with `upto` both ends of a published range, beside `ours`, which may differ by the
    share `within`; a `wrong` one is of the claim's own arithmetic. Bounded: `implied`, what follows from
    what was published, has to keep to `at_most` and `at_least`. Shown: `theirs` alone, as published, or
    `ours` alone, as found here; it decides nothing, whatever it comes to. `each`: for every row of the
    table. `where` is its place in the file.
    """

    name: str
    where: str
    unit: str = ""
    theirs: Expression | None = None
    upto: Expression | None = None
    ours: Expression | None = None
    within: float = 0.0
    implied: Expression | None = None
    at_most: Expression | None = None
    at_least: Expression | None = None
    wrong: bool = False
    each: bool = False

    @property
    def bounded(self) -> bool:
        return self.implied is not None

    @property
    def compared(self) -> bool:
        return self.theirs is not None and self.ours is not None

    @property
    def decides(self) -> bool:
        """Whether it can speak for or against its claim; else it is only shown."""
        return self.bounded or self.compared

    def expressions(self) -> tuple[Expression, ...]:
        found = (self.theirs, self.upto, self.ours, self.implied, self.at_most, self.at_least)
        return tuple(expression for expression in found if expression is not None)


@dataclass(frozen=True)
class Claim:
    """`shape` has every field of the family's workload that is known; `given` those the file writes out.

    `target` is what the published hardware corresponds to; None where nothing here does. `because` is
    the author's sentence for the verdict that is expected; `not_checkable` what is missing for one: it
    stands in for agreement, while a compared figure that differs, or a bound that is broken, outweighs it.
    """

    family: str
    id: str
    where: str
    says: str
    source: str
    version: str
    hardware: str
    expect: str
    shape: Mapping[str, Value] = field(default_factory=dict[str, Value])
    given: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    target: str | None = None
    because: str = ""
    not_checkable: str = ""

    @property
    def name(self) -> str:
        return f"{self.family}/{self.id}"

    def names(self) -> dict[str, Found]:
        """What its expressions may name: the shape's fields, and the statuses."""
        return {**STATUS_WORDS, **{name: value for name, value in self.shape.items() if value is not None}}

    def points(self, figure: Figure) -> tuple[tuple[str, dict[str, Found]], ...]:
        """Where a figure is evaluated, each with the names known there: once, or row by row of the table."""
        if not figure.each or self.table is None:
            return (("", self.names()),)
        return tuple((str(row[0]), {**self.names(), **self.table.numbers(row)}) for row in self.table.rows)


@dataclass(frozen=True)
class Read:
    """What a figure came to. `agrees` None: undecided, and `missing` says why, or it is only shown.

    Of a bounded figure `ours` is what is implied, `theirs` the lower bound and `upto` the upper. `row` is
    the row of the table that decided; `by` what ours was taken from; `targets` those compiled for.
    """

    figure: Figure
    theirs: Found | None = None
    upto: Found | None = None
    ours: Found | None = None
    agrees: bool | None = None
    row: str = ""
    missing: str = ""
    by: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """`incomplete`: what this machine lacked, or failed at, so that figures are left out; else empty."""

    claim: Claim
    word: str
    sentence: str
    figures: tuple[Read, ...] = ()
    incomplete: str = ""

    def __post_init__(self) -> None:
        if self.word not in VERDICTS:
            raise ValueError(f'"{self.word}" is no verdict: {", ".join(VERDICTS)}')

    @property
    def unexpected(self) -> bool:
        """Another verdict than the file's author found, though nothing was left out."""
        return not self.incomplete and self.word != self.claim.expect
