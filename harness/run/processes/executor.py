"""The interface between the runner and the processes it drives; tests implement it with a fake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from harness.core.protocol import Job


class Ended(Exception):  # noqa: N818 - how a question ended is a result, not an error
    """A question ended without an answer: `status` is `oom`, `timeout` or `crashed`, with one sentence.

    `alive`: the process raised an exception and can be asked again; otherwise it is gone. `output` is what
    there is to read of a crash: the traceback, if any, and what the process has printed. `died_of` is what
    a process showed that died by itself, without a remedy; empty where it was ended, or lives. One that was
    `killed_stopped` was killed by somebody else, since a stopped process does nothing.
    """

    def __init__(
        self,
        status: str,
        reason: str,
        *,
        alive: bool = False,
        output: str = "",
        died_of: str = "",
        killed_stopped: bool = False,
    ) -> None:
        super().__init__(reason)
        self.status, self.reason, self.alive, self.output = status, reason, alive, output
        self.died_of, self.killed_stopped = died_of, killed_stopped


class Inspection(NamedTuple):
    """What a worker shows to the kernel; `orphans` were left without a parent, and have been ended."""

    cores: int | None  # that it, and what it has started, may run on; None where it is free to use all
    orphans: Sequence[str] = ()


class Worker(Protocol):
    """One measuring process, parked (stopped) whenever no question is open."""

    def ask(self, verb: str, seconds: float, **arguments: Any) -> Mapping[str, Any]:
        """The answer to a question, given within `seconds` of the process's own turn.

        Raises Ended when the process fails, dies, hangs or exhausts its memory instead; Unsupported
        when it refuses.
        """
        ...

    def inspect(self) -> Inspection:
        """Look at it from outside, while it is stopped."""
        ...

    def close(self) -> None:
        """End the process and everything it started."""
        ...


class Executor(Protocol):
    def spawn(self, job: Job, limit_bytes: int) -> Worker:
        """Start a process. `limit_bytes` bounds the resident size of all living ones together.

        Raises Ended or Unsupported as `ask` does, and MachineError when nothing can be started here.
        """
        ...

    def close(self) -> None:
        """End everything."""
        ...
