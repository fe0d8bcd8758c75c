"""Recorder of the stages of one call: reads a clock or counter whenever a stage begins or ends."""

from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

from harness.core.stage import recording

Mark = TypeVar("Mark")
OUTSIDE = ""  # the name for what is outside all stages


class StageSpan(NamedTuple):
    """A stage's part of one call, without the stages nested in it."""

    seconds: float
    entered: int | None  # how often the call begins it; None where that is not known
    beside: float = 0.0  # further seconds in which it ran in parallel to stages that were given that time


class StageRecorder(Generic[Mark]):
    """Runs calls with their stages recorded. `mark` reads a clock or a counter.

    What passes between two marks belongs to the innermost open stage, so the parts add up to the whole
    exactly. A nested stage has both names: `selected/mask`.
    """

    def __init__(self, mark: Callable[[], Mark]) -> None:
        self.mark = mark
        self.open: list[str] = [OUTSIDE]
        self.marks: list[tuple[str, Mark]] = []  # a stage, and the mark at which its part begins
        self.entered: dict[str, int] = defaultdict(int)

    @property
    def current(self) -> str:
        return self.open[-1]

    def run(self, call: Callable[[], Any]) -> Any:
        """The result of `call`, recorded. The caller synchronises, if it must, before :meth:`end`."""
        self.open, self.marks, self.entered = [OUTSIDE], [(OUTSIDE, self.mark())], defaultdict(int)
        with recording(self._stage):
            return call()

    @contextmanager
    def _stage(self, name: str) -> Generator[None]:
        outer = self.open[-1]
        path = f"{outer}/{name}" if outer else name
        self.open.append(path)
        self.entered[path] += 1
        self.marks.append((path, self.mark()))
        try:
            yield
        finally:
            self.open.pop()
            self.marks.append((outer, self.mark()))

    def end(self) -> None:
        self.marks.append((OUTSIDE, self.mark()))

    def parts(self, span: Callable[[Mark, Mark], float]) -> dict[str, float]:
        """The summed spans of every stage, and outside of all, in the order in which they began."""
        sums: dict[str, float] = {}
        for (name, start), (_, end) in zip(self.marks, self.marks[1:], strict=False):
            sums[name] = sums.get(name, 0) + span(start, end)
        return sums
