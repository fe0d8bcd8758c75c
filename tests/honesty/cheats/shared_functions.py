"""Functions that cheats share: correct results, a wrong one, and access to the calling harness."""

import sys

import numpy as np


def largest(scores, k):
    """The correct result by sorting whole rows, which takes milliseconds; a lookup takes microseconds."""
    indices = np.argsort(-scores, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(scores, indices, -1), indices


def partitioned(scores, k):
    """The correct result by quickselect, like the honest implementation."""
    indices = np.argpartition(scores, -k, axis=-1)[..., -k:]
    return np.take_along_axis(scores, indices, -1), indices


def nothing(scores, k):
    """Zeros with the correct shapes."""
    size = (*scores.shape[:-1], k)
    return np.zeros(size, scores.dtype), np.zeros(size, np.int64)


def frames():
    """The calling frames, innermost first."""
    frame = sys._getframe(1)
    while frame:
        yield frame
        frame = frame.f_back


def worker():
    """The calling worker object of the harness."""
    callers = (frame.f_locals.get("self") for frame in frames())
    return next(caller for caller in callers if is_case_worker(type(caller)))


def is_case_worker(kind):
    """Compares names, because importing the class would be another cheat."""
    return any(each.__name__ == "CaseWorker" for each in kind.__mro__)
