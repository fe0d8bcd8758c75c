"""A stage: a named part of an implementation, `with stage("select"):`, timed within the whole in a profile.

Outside a profile a mark takes about 0.1 µs, and changes nothing of the program.
"""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


class _Unrecorded:
    """The context of a stage outside a profile; one instance serves all, as it holds nothing.

    Its methods are builtins that take these arguments and return something false: calling a function
    of Python's twice would take as long again as the whole mark.
    """

    __slots__ = ()
    __enter__ = bool
    __exit__ = "".format


BACKWARD = "backward"  # the stage of every family in which a backward runs, all of it

SCOPE = "stage:"  # before a stage's name among the names of a compiler's or a profiler's own
JOINED = " + "  # between the names of stages that share one piece of work, as a fused kernel does

Recorder = Callable[[str], AbstractContextManager[Any]]

_UNRECORDED: Any = _Unrecorded()
_recorder: Recorder | None = None


def stage(name: str) -> AbstractContextManager[Any]:
    """The context of a named part of a call, for code inside what a builder returns.

    Stages may stand in loops, where their times add up, and inside each other: the inner one's time has a
    row of its own, `outer/inner`. Names are the family's (`stages` of its Family).
    """
    return _UNRECORDED if _recorder is None else _recorder(name)


@contextmanager
def recording(recorder: Recorder) -> Generator[None]:
    """Enter every stage that begins in this block through `recorder`."""
    global _recorder  # noqa: PLW0603 - the cheapest state that a mark can look at
    before, _recorder = _recorder, recorder
    try:
        yield
    finally:
        _recorder = before
