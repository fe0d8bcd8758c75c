"""Events of a run, for a listener that shows progress. The runner itself prints nothing."""

from collections.abc import Sequence
from typing import Protocol

from harness.core.record import Record


class Listener(Protocol):
    """Progress of a run; every method may do nothing."""

    def group_started(
        self, index: int, key: str, cases: Sequence[str], remaining_s: float | None
    ) -> None: ...

    def case_state(self, case: str, state: str) -> None: ...

    def pause(self) -> None:
        """Show nothing until `resume`, because a clock is being read."""
        ...

    def resume(self) -> None: ...

    def group_finished(self, records: Sequence[Record], remaining_s: float | None) -> None: ...

    def message(self, text: str) -> None: ...

    def close(self) -> None: ...
