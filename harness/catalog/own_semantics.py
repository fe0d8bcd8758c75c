"""A meaning that an implementation brings along: reference, contract and cost from its author's own file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.catalog.contract import Contract
from harness.core.errors import UsageError
from harness.core.record import Cost

REFERENCE_FRAMEWORKS = ("numpy", "torch")


@dataclass(frozen=True)
class OwnSemantics:
    """What an implementation is held to where no semantics of its family says what it computes.

    `reference(w, rows)` is a builder as in :class:`Semantics`, in numpy or torch (`framework`). A name
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
        if problem := self._find_problem():
            raise UsageError(f"OwnSemantics: {problem}")

    def _find_problem(self) -> str | None:
        contracts: dict[str, object] = {"contract": self.contract, "gradient": self.gradient or self.contract}
        for what, contract in contracts.items():
            if not isinstance(contract, Contract):
                return f"its {what} is {contract!r}; use within(rel_rms=…), recall(at_least=…) or a Contract"
        if self.framework not in REFERENCE_FRAMEWORKS:
            return f'its framework is "{self.framework}"; references are written in numpy or torch'
        if self.cost is not None and not callable(self.cost):
            return f"its cost is {self.cost!r}; use a function of the workload that returns a Cost"
        if self.reference is None or isinstance(self.reference, str):
            return None
        if not callable(self.reference) or not _takes_two(self.reference):
            return (
                f"its reference is {self.reference!r}; use a function of (w, rows) that returns "
                "a callable over the inputs, or the name of one of the family's semantics"
            )
        return None


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # it has no signature that can be read: calling it will show
        return True
    return True
