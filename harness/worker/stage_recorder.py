"""Recorder of the stages of one call: reads a clock or counter when a stage begins or ends."""

from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

from harness.core.stage import recording

Mark = TypeVar("Mark")
OUTSIDE = ""  # the name of the time outside all stages


class StageSpan(NamedTuple):
    """A stage's share of one call, without nested stages."""

    seconds: float
    entered: int | None  # how often the call enters it; None if unknown
    overlapped: float = 0.0  # further seconds in which it ran in parallel, attributed to other stages


class StageRecorder(Generic[Mark]):
    """Runs calls and records their stages. `mark` reads a clock or a counter.

    The difference between two marks belongs to the innermost open stage, so the parts add up to the whole.
    The path of a nested stage is `outer/inner`.
    """

    def __init__(self, mark: Callable[[], Mark]) -> None:
        self.mark = mark
        self.open: list[str] = [OUTSIDE]
        self.marks: list[tuple[str, Mark]] = []  # a stage, and the mark at which it begins
        self.entered: dict[str, int] = defaultdict(int)

    @property
    def current(self) -> str:
        return self.open[-1]

    def run(self, call: Callable[[], Any]) -> Any:
        """Run `call`, record its stages, and return its result. Synchronise before :meth:`end`."""
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
        """The total of every stage and of the time outside, in order of their first mark."""
        sums: dict[str, float] = {}
        for (name, start), (_, end) in zip(self.marks, self.marks[1:], strict=False):
            sums[name] = sums.get(name, 0) + span(start, end)
        return sums
