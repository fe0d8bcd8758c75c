"""A compile request (a case and a target) and its result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.catalog.accelerators import HOST, memory_of, target
from harness.core.case import Case
from harness.core.errors import require_member
from harness.core.plain_data import from_plain
from harness.core.record import STATUSES, Cost
from harness.core.static_figures import Static
from harness.cubin.machine_code import with_waves


@dataclass(frozen=True)
class CompileRequest:
    """A case to compile for a target."""

    case: Case
    target: str
    owners: bool = False  # also the buffers of the planned peak

    @property
    def extras(self) -> Mapping[str, bool]:
        """Arguments for a worker, and parts of the cache key, in addition to case and target."""
        return {"owners": True} if self.owners else {}


@dataclass(frozen=True)
class CompileResult:
    """The result of compiling; `status` as in a record. Without figures, `static` has the reason."""

    status: str
    static: Static
    reason: str | None = None
    cost: Cost = field(default_factory=Cost)
    facts: Mapping[str, Any] = field(default_factory=dict)
    expected: bool = False
    input_bytes: int = 0  # of one set of the case's inputs
    cached: bool = False  # read from the cache
    transient: bool = False  # a failure due to this machine's state, not to the request
    output: str = ""  # of a crash

    def __post_init__(self) -> None:
        require_member("status", self.status, STATUSES)

    @classmethod
    def failed(cls, status: str, reason: str, *, transient: bool = False, output: str = "") -> CompileResult:
        return cls(status, Static.none(reason), reason, transient=transient, output=output)

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> CompileResult:
        """The result from the reply of a process that compiled the case."""
        return from_plain(cls, {**answer, "status": "ok"})

    @property
    def repeatable(self) -> bool:
        """Whether compiling again would give the same result. A crash or an abandoned trace may not recur."""
        if self.transient:
            return False
        return self.status == "unsupported" or (self.status == "ok" and self.static.has_figures)

    def on_target(self, name: str, host_bytes: int) -> CompileResult:
        """This result with the facts that depend on the target's device: whether it fits, and occupancy.

        The host's memory is `host_bytes`.
        """
        gpu, planned, fits = target(name), self.static.planned_bytes, self.static.fits
        limit = host_bytes if name == HOST else memory_of(name)
        if planned is not None:
            fits = None if limit is None else planned <= limit
        kernels = tuple(with_waves(kernel, gpu) for kernel in self.static.kernels)
        return dataclasses.replace(self, static=dataclasses.replace(self.static, fits=fits, kernels=kernels))

    def to_json(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if name not in {"cached", "transient", "output"}
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CompileResult:
        """A cached result as :meth:`to_json` wrote it. ValueError for anything else."""
        return from_plain(cls, {**data, "cached": True})
