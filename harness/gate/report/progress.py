"""Progress of a gate on standard error: the pair, how many cases are open, the estimated time left."""

from collections.abc import Sequence

from rich.text import Text

from harness.report.format import duration
from harness.report.progress import Progress


class GateProgress(Progress):
    """Progress of a gate."""

    def pair_started(self, number: int, cases: Sequence[str], left_s: float | None) -> None:
        """A pair begins with the cases that are still open."""
        left = f", about {duration(left_s)} left" if left_s else ""
        count = f"{len(cases)} case{'s' if len(cases) != 1 else ''}"
        self._heading = f"pair {number}: {count} open{left}"
        self._states = dict.fromkeys(cases, "waiting")
        if self._live is None:
            self._print(Text(self._heading))
        self._redraw(now=True)

    def pair_finished(self) -> None:
        """All cases of a pair have their rounds."""
        self._states = {}
        self._redraw(now=True)
