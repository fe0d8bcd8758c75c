"""The evidence gathered for claims: compiled cases, costs, contracts and checks; or why it is missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.analysis.machine_speedups import MachineSpeedups
from harness.claims.expression import Value
from harness.claims.model import Need
from harness.core.record import Cost
from harness.core.static_figures import Static


class Missing(Exception):  # noqa: N818 - a figure without a value is an answer, not an error
    """Why there is no value; `incomplete`: another machine, or this one later, may be able to give it."""

    def __init__(self, reason: str, *, incomplete: bool = False) -> None:
        super().__init__(reason)
        self.incomplete = incomplete


class OutsideTableError(Missing):
    """A row without its counterpart in the table: growth has no value at the first row."""


@dataclass(frozen=True)
class Compiled:
    """A case compiled for a target. `absent`: there is no compiler for it here, and `reason` says so."""

    static: Static
    status: str = "ok"
    reason: str = ""
    absent: bool = False
    facts: Mapping[str, Value | None] = field(default_factory=dict[str, Value | None])


@dataclass(frozen=True)
class Judged:
    """The result of a case's contract on this machine; `status` is None where it did not run.

    `checks` has whether each requested check passed; None where it was not decided.
    """

    status: str | None
    reason: str = ""
    checks: Mapping[str, bool | None] = field(default_factory=dict[str, "bool | None"])


@dataclass(frozen=True)
class ClaimEvidence:
    """The evidence for the needs of all claims."""

    compiled: Mapping[Need, Compiled] = field(default_factory=dict[Need, Compiled])
    costs: Mapping[Need, Cost | str] = field(default_factory=dict[Need, "Cost | str"])
    judged: Mapping[Need, Judged] = field(default_factory=dict[Need, Judged])
    timed: Mapping[Need, MachineSpeedups] = field(default_factory=dict[Need, MachineSpeedups])
