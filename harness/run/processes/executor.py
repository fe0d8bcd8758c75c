"""The interface between the runner and the processes that it drives; tests implement it with a fake."""

from collections.abc import Mapping
from typing import Any, Protocol

from harness.core.protocol import Job


class Ended(Exception):  # noqa: N818 - how a request ended is a result, not an error
    """A request ended without an answer: `oom`, `timeout`, `crashed` or `unjudged`, with one sentence.

    `alive`: the process raised an exception and can be asked again; otherwise it is gone. `output` has a
    crash's traceback, if any, and what the process has printed. `died_of` is the cause of death without a
    remedy; empty where the process was killed by the runner, or lives. `remedy` is the flag that may help,
    where it is not the usual one of the status.
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
        """The answer to a request, given within `seconds` of the process's own turn.

        Raises Ended when the process fails, dies, hangs or exhausts its memory instead; Unsupported
        when it refuses.
        """
        ...

    def count_cores(self) -> int | None:
        """How many cores it and the processes that it started may use; None where it may use all."""
        ...

    def kill(self) -> None:
        """Kill the process; may be called while another thread waits for its answer, which is Ended then."""
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
