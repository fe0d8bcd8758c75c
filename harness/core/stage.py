"""A stage: a named part of an implementation, `with stage("select"):`, timed within the whole in a profile.

Outside a profile a mark costs a call and a comparison, and changes nothing of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager


class _Unrecorded:
    """The context of a stage that nobody records; one serves all, as it holds nothing."""

    __slots__ = ()

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


BACKWARD = "backward"  # the stage of every family in which a backward runs, all of it

Recorder = Callable[[str], AbstractContextManager[None]]

_UNRECORDED = _Unrecorded()
_recorder: Recorder | None = None


def stage(name: str) -> AbstractContextManager[None]:
    """The context of a named part of a call, for code inside what a builder returns.

    Stages may stand in loops, where their times add up, and inside each other: the inner one's time has a
    row of its own, `outer/inner`. Names are the family's (`stages` of its Family).
    """
    return _UNRECORDED if _recorder is None else _recorder(name)


@contextmanager
def recording(recorder: Recorder) -> Generator[None]:
    """Have every stage that begins in this block entered through `recorder`."""
    global _recorder  # noqa: PLW0603 - the cheapest state that a mark can look at
    before, _recorder = _recorder, recorder
    try:
        yield
    finally:
        _recorder = before
