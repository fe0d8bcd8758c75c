"""A meaning that an implementation brings along: reference, contract and cost from its author's own file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.catalog.contract import Contract
from harness.catalog.known_frameworks import traits_of
from harness.core.declared import Rule, require_usable
from harness.core.record import Cost

REFERENCES = "numpy, torch, or a framework whose traits say that it writes references"
CONTRACTS = "within(rel_rms=…), recall(at_least=…) or a Contract"
COST = "a function of the workload that returns a Cost"
REFERENCE = (
    "a function of (w, rows) that returns a callable over the inputs, or the name of one of the family's "
    "semantics"
)


@dataclass(frozen=True)
class OwnSemantics:
    """What an implementation is held to where no semantics of its family says what it computes.

    `reference(w, rows)` is a builder as in :class:`Semantics`, in numpy, torch or another `framework`. A name
    stands for the family's reference of that semantics, None for that of the family's first: the result is
    then an approximation of it, as close as `contract` says. `gradient` is the contract of gradients; None
    where there is no backward. `cost(w)` is the least work of this meaning; without it none is given, since
    the family's is another meaning's.

    `name` goes into records, and is the implementation's where it is empty; implementations of one file
    that share the object and name it are compared as equivalent. UsageError for what cannot be used.
    """

    contract: Contract
    reference: Callable[[Any, Any], Callable[..., Any]] | str | None = None
    name: str = ""
    framework: str = "numpy"
    gradient: Contract | None = None
    cost: Callable[[Any], Cost] | None = None

    def __post_init__(self) -> None:
        require_usable(
            self,
            (
                Rule("contract", lambda value: isinstance(value, Contract), CONTRACTS),
                Rule("gradient", lambda value: isinstance(value, Contract), CONTRACTS, optional=True),
                Rule("framework", lambda value: traits_of(str(value)).writes_references, REFERENCES),
                Rule("cost", callable, COST, optional=True),
                Rule("reference", _is_reference, REFERENCE, optional=True),
            ),
        )


def _is_reference(value: object) -> bool:
    return isinstance(value, str) or callable(value)
