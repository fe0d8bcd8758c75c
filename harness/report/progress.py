"""The progress of a run on standard error, drawn only when the runner calls.

No thread refreshes the display, because drawing in the parent would disturb a child that is timed. A terminal
shows one block that is redrawn in place; elsewhere every finished group is one plain line.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from harness.core.record import Record
from harness.report.format import duration

MIN_REDRAW_S = 0.1


class Progress:
    """A listener to the runner's events; `clock` (seconds) only limits how often it draws."""

    def __init__(
        self, total_groups: int, console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.total = total_groups
        self._console = console
        self.clock = clock
        self._live: Live | None = None
        self._heading = ""
        self._states: dict[str, str] = {}
        self._position = ""
        self._paused = False
        self._stale = False
        self._failed = False
        self._drawn_at = float("-inf")
        if console.is_terminal:
            self._live = Live(console=console, auto_refresh=False, transient=True)
            self._live.start()

    def group_started(self, index: int, key: str, cases: Sequence[str], remaining_s: float | None) -> None:
        """Group `index` (from 0) starts with these cases."""
        self._position = f"[{index + 1}/{self.total}]"
        self._heading = f"{self._position} {key}{_remaining_words(remaining_s)}"
        self._states = dict.fromkeys(cases, "waiting")
        self._redraw(now=True)

    def case_state(self, case: str, state: str) -> None:
        """Show what a case is doing: `compile`, `contract`, `round 3`, `ok 1.42 ms`."""
        self._states[case] = state
        self._redraw()

    def pause(self) -> None:
        """Draw nothing until :meth:`resume`, because a sample starts."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        if self._stale:
            self._redraw()

    def group_finished(self, records: Sequence[Record], remaining_s: float | None) -> None:
        """Print a line for a group whose records are written, unless a block is redrawn in place."""
        self._states = {}
        if self._live is None and records:
            counts = Counter(record.status for record in records)
            statuses = ", ".join(f"{count} {status}" for status, count in counts.items())
            group = records[0].as_case.group
            self._print(Text(f"{self._position} {group}: {statuses}{_remaining_words(remaining_s)}"))
        self._redraw(now=True)

    def message(self, text: str) -> None:
        """Print a line that stays above the live block."""
        self._print(Text(text))

    def close(self) -> None:
        """Remove the live block; safe to call twice."""
        if self._live is not None:
            with suppress(OSError):  # also after an earlier error: rich restores the streams here
                self._live.stop()
            self._live = None

    def _print(self, text: Text) -> None:
        self._write(partial(self._console.print, text, soft_wrap=True))

    def _write(self, write: Callable[[], None]) -> None:
        """Write unless standard error failed before, for example a closed pipe, which must not end a run."""
        if self._failed:
            return
        try:
            write()
        except OSError:
            self._failed = True

    def _redraw(self, *, now: bool = False) -> None:
        if self._live is None:
            return
        self._stale = True
        if self._paused or (not now and self.clock() - self._drawn_at < MIN_REDRAW_S):
            return
        self._stale = False
        self._drawn_at = self.clock()
        states = list(self._states.items())  # a copy: both sides of a gate compile at once and add cases
        lines = [Text(f"  {_short(case)}  {state}", style="dim") for case, state in states]
        block = Group(Text(self._heading, style="bold"), *lines)
        self._write(partial(self._live.update, block, refresh=True))


def _short(case: str) -> str:
    """The case without its workload, which the group's heading shows."""
    return case.split("@", 1)[0]


def _remaining_words(seconds: float | None) -> str:
    return "" if not seconds else f", about {duration(seconds)} left"
