"""The interface between the runner and its worker processes; tests implement it with a fake."""

from collections.abc import Mapping
from typing import Any, Protocol

from harness.core.protocol import Job


class Ended(Exception):  # noqa: N818 - how a request ended is a result, not an error
    """A request ended without a reply: `oom`, `timeout`, `crashed` or `unjudged`, with one sentence.

    `alive`: the process raised an exception and takes further requests; otherwise it is gone. `output` has a
    crash's traceback, if any, and the process's output. `died_of` is the cause of death without a remedy;
    empty if the runner killed the process, or if it lives. `remedy` is the flag that may help, if it is not
    the usual one of the status.
    """

    def __init__(
        self,
        status: str,
        reason: str,
        *,
        alive: bool = False,
        output: str = "",
        died_of: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(reason)
        self.status, self.reason, self.alive, self.output = status, reason, alive, output
        self.died_of, self.remedy = died_of, remedy


class Worker(Protocol):
    """One measuring process, parked (SIGSTOP) whenever no request is open."""

    def ask(self, verb: str, seconds: float, **arguments: Any) -> Mapping[str, Any]:
        """The reply to a request, within `seconds` of the process's own turn.

        Raises Ended if the process fails, dies, hangs or exhausts its memory; Unsupported if it refuses.
        """
        ...

    def count_cores(self) -> int | None:
        """The number of cores that the process and its children may use; None if it may use all."""
        ...

    def kill(self) -> None:
        """Kill the process; a thread that waits for its reply then gets Ended."""
        ...

    def close(self) -> None:
        """End the process and everything it started."""
        ...


class Executor(Protocol):
    """Starts measuring processes."""

    def spawn(self, job: Job, limit_bytes: int) -> Worker:
        """Start a process. `limit_bytes` limits the resident size of all living processes together.

        Raises Ended or Unsupported as `ask` does, and MachineError if no process can be started here.
        """
        ...

    def close(self) -> None:
        """End everything."""
        ...
