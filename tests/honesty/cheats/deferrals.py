"""Work that is done after the clock was read, or when the answer is looked at."""

from rightly import largest
from seqsweep import implementation

from impls.topk.family import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def fills_it_later(w: TopkWorkload):
    """Returns an empty buffer at once, and a thread fills it."""
    import time
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np

    pool = ThreadPoolExecutor(1)

    def select(scores):
        size = (*scores.shape[:-1], w.topk)
        values, indices = np.zeros(size, scores.dtype), np.zeros(size, np.int64)

        def fill():
            time.sleep(0.05)
            values[:], indices[:] = largest(scores, w.topk)

        pool.submit(fill)
        return values, indices

    return select


@implementation(framework="numpy", semantics="exact")
def launches_on_another_queue(w: TopkWorkload):
    """Waits for its own queue in the first call only, as one waits for a stream nobody else knows of."""
    import queue
    import threading
    import time

    import numpy as np

    work = queue.SimpleQueue()
    first = []

    def run():
        while True:
            scores, values, indices, finished = work.get()
            time.sleep(0.05)
            values[:], indices[:] = largest(scores, w.topk)
            finished.set()

    threading.Thread(target=run, daemon=True).start()

    def select(scores):
        size = (*scores.shape[:-1], w.topk)
        values, indices = np.zeros(size, scores.dtype), np.zeros(size, np.int64)
        finished = threading.Event()
        work.put((scores, values, indices, finished))
        if not first:
            finished.wait()
            first.append(True)
        return values, indices

    return select


@implementation(framework="torch", semantics="exact")
def defers_in_a_tensor(w: TopkWorkload):
    """Returns tensors of a subclass that compute when an operation first needs their values."""
    import torch

    class Deferred(torch.Tensor):
        @staticmethod
        def __new__(cls, compute, shape, dtype):
            return torch.Tensor._make_wrapper_subclass(cls, shape, dtype=dtype)

        def __init__(self, compute, shape, dtype):
            self.compute = compute

        @classmethod
        def __torch_dispatch__(cls, function, types, arguments=(), named=None):
            plain = [part.compute() if isinstance(part, Deferred) else part for part in arguments]
            return function(*plain, **(named or {}))

    def select(scores):
        def part(number):
            return lambda: torch.topk(scores, w.topk)[number]

        size = (*scores.shape[:-1], w.topk)
        return Deferred(part(0), size, scores.dtype), Deferred(part(1), size, torch.int64)

    return select


@implementation(framework="numpy", semantics="exact")
def defers_in_a_list(w: TopkWorkload):
    """Returns a list that computes when it is first gone through."""

    class Deferred(list):
        def __iter__(self):
            return iter(largest(self[0], w.topk))

    return lambda scores: Deferred([scores])


@implementation(framework="numpy", semantics="exact")
def answers_when_it_is_fetched(w: TopkWorkload):
    """Returns zeros, and replaces the function that fetches a result by one that computes it first."""
    from rightly import nothing

    from harness.worker.frameworks.numpy_ import Numpy

    fetch, last = Numpy.get, []

    def computed(self, tree):
        mine = isinstance(tree, tuple) and last
        return fetch(self, largest(last[0], w.topk) if mine else tree)

    def select(scores):
        last[:] = [scores]
        return nothing(scores, w.topk)

    Numpy.get = computed
    return select


@implementation(framework="numpy", semantics="exact")
def defers_in_an_array(w: TopkWorkload):
    """Returns arrays of a subclass that has `__array__` and would compute there."""
    import numpy as np

    class Deferred(np.ndarray):
        scores = None

        def __array__(self, *_, **__):
            return largest(self.scores, w.topk)[0]

    def select(scores):
        values = np.zeros((*scores.shape[:-1], w.topk), scores.dtype).view(Deferred)
        values.scores = scores
        return values, np.zeros(values.shape, np.int64)

    return select


@implementation(framework="numpy", semantics="exact")
def returns_a_promise(w: TopkWorkload):
    """Returns the function that would compute the answer."""
    return lambda scores: lambda: largest(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def returns_a_generator(w: TopkWorkload):
    """Returns a generator that would compute the answer's parts."""
    return lambda scores: (part for part in largest(scores, w.topk))
