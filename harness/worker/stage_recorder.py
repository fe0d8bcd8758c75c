"""Recording the stages of one call: what a counter or a clock showed whenever a stage began or ended."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from harness.core.stage import recording

Mark = TypeVar("Mark")
OUTSIDE = ""  # the name of what no stage holds


class StageSpan(NamedTuple):
    """What a stage took of one call, without the stages inside it."""

    seconds: float
    entered: int | None  # how often the call begins it; None where that is not known
    beside: float = 0.0  # seconds more in which it ran on some cores, beside stages that have that time


class StageRecorder(Generic[Mark]):
    """Runs calls with their stages recorded. `mark` reads a clock or a counter.

    From one mark to the next everything belongs to the innermost stage that is open, so the parts add up to
    the whole exactly. A stage inside another is called by both names: `selected/mask`.
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
        """The result of `call`, after the last mark: it is up to the caller to synchronise before `end`."""
        self.open, self.marks, self.entered = [OUTSIDE], [(OUTSIDE, self.mark())], defaultdict(int)
        with recording(lambda name: _OpenStage(self, name)):
            return call()

    def end(self) -> None:
        self.marks.append((OUTSIDE, self.mark()))

    def parts(self, span: Callable[[Mark, Mark], float]) -> dict[str, float]:
        """The sum of the spans of every stage, and of what none holds, in the order in which they began."""
        sums: dict[str, float] = {}
        for (name, start), (_, end) in zip(self.marks, self.marks[1:], strict=False):
            sums[name] = sums.get(name, 0) + span(start, end)
        return sums


def time_marked(
    call: Callable[[], Any],
    sync: Callable[[Any], None],
    mark: Callable[[], Mark],
    span: Callable[[Mark, Mark], float],
) -> dict[str, StageSpan]:
    """The times of the stages of one call, by marks of a clock; `span` is asked once all is computed."""
    recorder = StageRecorder(mark)
    result = recorder.run(call)
    recorder.end()
    sync(result)
    times = recorder.parts(span).items()
    return {name: StageSpan(seconds, recorder.entered.get(name, 1)) for name, seconds in times}


class _OpenStage:
    """The context of one stage of one call."""

    __slots__ = ("name", "recorder")

    def __init__(self, recorder: StageRecorder[Any], name: str) -> None:
        self.recorder, self.name = recorder, name

    def __enter__(self) -> None:
        recorder = self.recorder
        outer = recorder.open[-1]
        path = f"{outer}/{self.name}" if outer else self.name
        recorder.open.append(path)
        recorder.entered[path] += 1
        recorder.marks.append((path, recorder.mark()))

    def __exit__(self, *_: object) -> None:
        recorder = self.recorder
        recorder.open.pop()
        recorder.marks.append((recorder.open[-1], recorder.mark()))
