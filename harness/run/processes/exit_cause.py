"""The cause of a process's death, from its exit code, its last output, and how near its limit it was."""

import signal
from typing import NamedTuple

from harness.core.errors import speaks_of_oom
from harness.core.remedy import Remedy
from harness.core.shown_text import clean_line

MORE_MEMORY = "raise --memory or shorten the sequence"


class ExitCause(NamedTuple):
    """The cause of a death: `status` is `oom` or `crashed`, `what` has it in words, `remedy` what to do."""

    status: str
    what: str
    remedy: str

    @property
    def reason(self) -> str:
        return f"{self.what}; {self.remedy}"


def exit_cause(code: int | None, output: str, near: str | None, *, killed: bool = False) -> ExitCause:
    """The cause of death of a process that ended without an answer.

    `code` is its exit code, negative for a signal, None if unknown; `output` the end of its output; `near`
    how close it came to its memory limit; `killed` whether the kernel's OOM killer has just acted.
    """
    lines = [line for line in map(clean_line, output.splitlines()) if line]
    quote = f': "{lines[-1][:200]}"' if lines else ""
    if killed and code == -signal.SIGKILL:
        return ExitCause("oom", "the kernel killed it, for the machine was out of memory", Remedy.LESS_MEMORY)
    if near or speaks_of_oom(output):
        how = f" {near}" if near else quote
        return ExitCause("oom", f"it died{how}", MORE_MEMORY)
    if code is None:
        what = f"it vanished with its server{quote}"
        return ExitCause("crashed", what, "run it alone to see whether it repeats")
    if code < 0:
        return ExitCause("crashed", f"killed by {_name(-code)}{quote}", "run it alone under a debugger")
    what = f"it ended with exit code {code} instead of an answer{quote}"
    return ExitCause("crashed", what, "run it alone to see why")


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"  # a real-time signal has no name
