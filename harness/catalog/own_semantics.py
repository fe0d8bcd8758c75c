"""Own semantics: reference, contract and cost that an implementation's author brings along."""

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
    """The semantics of an implementation that computes something else than its family's semantics.

    `reference(w, rows)` is a builder as in :class:`Semantics`, in numpy, torch or another `framework`. A name
    means the family's reference of that semantics, None that of the family's first: the result is then an
    approximation of it, within `contract`. `gradient` is the contract of gradients; None where there is no
    backward. `cost(w)` is the least work; without it none is given, since the family's is of other semantics.

    `name` goes into records, and is the implementation's if empty; implementations of one file that share a
    named object are compared as equivalent. UsageError for fields of another type.
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
