"""A stage: a named part of an implementation, `with stage("select"):`, that a profile times separately.

Outside a profile a mark takes about 0.1 µs, and does not change the program.
"""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


class _Unrecorded:
    """The context of a stage outside a profile; all stages share one instance without state.

    Its methods are builtins that take these arguments and return a false value. Two calls of Python functions
    would double the time of a mark.
    """

    __slots__ = ()
    __enter__ = bool
    __exit__ = "".format


BACKWARD = "backward"  # the stage of every family for its whole backward

SCOPE = "stage:"  # prefix of stage names in a compiler or profiler
JOINED = " + "  # between the names of stages that share work, for example a fused kernel

Recorder = Callable[[str], AbstractContextManager[Any]]

_UNRECORDED: Any = _Unrecorded()
_recorder: Recorder | None = None


def stage(name: str) -> AbstractContextManager[Any]:
    """The context of a named part of a call, for the code that a builder returns.

    In loops, the times of a stage add up. Stages can be nested: the inner stage has a separate row,
    `outer/inner`. The family defines the names (`stages` of its Family).
    """
    return _UNRECORDED if _recorder is None else _recorder(name)


@contextmanager
def recording(recorder: Recorder) -> Generator[None]:
    """Enter every stage in this block through `recorder`."""
    global _recorder  # noqa: PLW0603 - the cheapest state for a mark to read
    before, _recorder = _recorder, recorder
    try:
        yield
    finally:
        _recorder = before
