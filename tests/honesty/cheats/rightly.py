"""What the cheats share: the right answer, a wrong one, and the way to the harness that runs them."""

import sys

import numpy as np


def largest(scores, k):
    """The right answer, by sorting whole rows: milliseconds where a lookup takes microseconds."""
    indices = np.argsort(-scores, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(scores, indices, -1), indices


def partitioned(scores, k):
    """The right answer by quickselect, which is what an honest rival here does."""
    indices = np.argpartition(scores, -k, axis=-1)[..., -k:]
    return np.take_along_axis(scores, indices, -1), indices


def nothing(scores, k):
    """An answer of the right form that took no work."""
    size = (*scores.shape[:-1], k)
    return np.zeros(size, scores.dtype), np.zeros(size, np.int64)


def frames():
    """The frames that led here, innermost first."""
    frame = sys._getframe(1)
    while frame:
        yield frame
        frame = frame.f_back


def worker():
    """The harness's object that is calling."""
    callers = (frame.f_locals.get("self") for frame in frames())
    return next(caller for caller in callers if is_case_worker(type(caller)))


def is_case_worker(kind):
    """By its name: importing the harness's class would be another trick."""
    return any(each.__name__ == "CaseWorker" for each in kind.__mro__)
