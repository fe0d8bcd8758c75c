"""The seam between the runner and the processes it drives; tests put a fake behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from harness.spec.protocol import Job


@dataclass(frozen=True)
class Ended(Exception):  # noqa: N818 - how a process ended is a result, not an error
    """A process is gone: `status` is `oom`, `timeout` or `crashed`, with one sentence."""

    status: str
    reason: str


class Worker(Protocol):
    """One measuring process, parked (stopped) whenever no question is open."""

    def ask(self, verb: str, seconds: float, **arguments: Any) -> Mapping[str, Any]:
        """The answer to a question, given within `seconds` of the process's own turn.

        Raises Ended when the process dies, hangs or exhausts its memory instead; Unsupported when
        it refuses.
        """
        ...

    def close(self) -> None:
        """End the process and everything it started."""
        ...


class Executor(Protocol):
    def spawn(self, job: Job, limit_bytes: int) -> Worker:
        """Start a process. `limit_bytes` bounds the resident size of all living ones together."""
        ...

    def spent(self) -> Mapping[str, float]:
        """Seconds spent per activity of the processes themselves (`fork`)."""
        ...

    def close(self) -> None:
        """End everything."""
        ...
