"""Work that is deferred until after timing, or until the result is read."""

from seqsweep import implementation
from shared_functions import largest

from impls.topk.family import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def fills_it_later(w: TopkWorkload):
    """Returns an empty buffer, which a thread fills."""
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
    """Waits for its own queue in the first call only."""
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
    """Returns tensors of a subclass that computes at the first operation."""
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
    """Returns a list that computes when it is iterated."""

    class Deferred(list):
        def __iter__(self):
            return iter(largest(self[0], w.topk))

    return lambda scores: Deferred([scores])


@implementation(framework="numpy", semantics="exact")
def answers_when_it_is_fetched(w: TopkWorkload):
    """Returns zeros, and replaces the function that fetches a result."""
    from shared_functions import nothing

    from harness.worker.frameworks.numpy import Numpy

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
    """Returns arrays of a subclass that would compute in `__array__`."""
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
    """Returns a function that would compute the result."""
    return lambda scores: lambda: largest(scores, w.topk)


def _empty_buffers(w):
    """(function that returns empty buffers, function that fills the buffers that are still referenced)."""
    import weakref

    import numpy as np

    held = {}

    def lend(scores):
        size = (*scores.shape[:-1], w.topk)
        values, indices = np.empty(size, scores.dtype), np.empty(size, np.int64)
        key = id(values)
        held[key] = (weakref.ref(values, lambda _: held.pop(key, None)), weakref.ref(indices), scores)
        return values, indices

    def fill():
        for values, indices, scores in list(held.values()):
            if values() is not None and indices() is not None:
                values()[:], indices()[:] = largest(scores, w.topk)

    return lend, fill


@implementation(framework="numpy", semantics="exact")
def works_when_a_file_is_opened(w: TopkWorkload):
    """Returns empty buffers, and fills them when the process opens a file."""
    import sys

    lend, fill = _empty_buffers(w)
    sys.addaudithook(lambda event, _: fill() if event in {"open", "os.mkdir"} else None)
    return lend


@implementation(framework="numpy", semantics="exact")
def fills_it_by_an_alarm(w: TopkWorkload):
    """Returns empty buffers, which a signal handler fills."""
    import signal

    lend, fill = _empty_buffers(w)

    def select(scores):
        buffers = lend(scores)
        signal.setitimer(signal.ITIMER_REAL, 3e-5)
        return buffers

    signal.signal(signal.SIGALRM, lambda *_: fill())
    return select


@implementation(framework="torch", semantics="exact")
def defers_in_a_mode(w: TopkWorkload):
    """Enters a torch mode that computes a result at its first use, and does not exit it."""
    import weakref
    from functools import partial

    import torch
    from torch.overrides import TorchFunctionMode

    held = {}

    def drop(key, _):
        held.pop(key, None)

    class Late(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), named=None):
            for argument in arguments:
                if id(argument) in held:
                    _, part, compute = held.pop(id(argument))
                    argument.copy_(compute()[part])
            return function(*arguments, **(named or {}))

    def select(scores):
        with torch._C.DisableTorchFunction():
            size = (*scores.shape[:-1], w.topk)
            answer = torch.empty(size, dtype=scores.dtype), torch.empty(size, dtype=torch.int64)
            for part, mine in enumerate(answer):
                forget = weakref.ref(mine, partial(drop, id(mine)))
                held[id(mine)] = (forget, part, lambda: scores.topk(w.topk))
        return answer

    Late().__enter__()
    return select


@implementation(framework="torch", semantics="exact")
def computes_on_a_lazy_device(w: TopkWorkload):
    """Returns tensors on torch's lazy device, which computes when they are read."""
    import torch._lazy.ts_backend

    torch._lazy.ts_backend.init()
    return lambda scores: tuple(scores.to("lazy").topk(w.topk))


@implementation(framework="torch", semantics="exact")
def returns_a_sparse_tensor(w: TopkWorkload):
    """Returns sparse tensors, which are computed when they are converted to dense ones."""

    def select(scores):
        values, indices = scores.topk(w.topk)
        return values.to_sparse(), indices

    return select


@implementation(framework="numpy", semantics="exact")
def fills_it_from_a_child(w: TopkWorkload):
    """Returns shared memory that a child process fills later."""
    import mmap
    import os
    import time

    import numpy as np

    shape = (w.batch, w.rows, w.seq)
    size = (w.batch, w.rows, w.topk)
    given = np.frombuffer(mmap.mmap(-1, 4 * w.batch * w.rows * w.seq), np.float32).reshape(shape)
    values = np.frombuffer(mmap.mmap(-1, 4 * w.batch * w.rows * w.topk), np.float32).reshape(size)
    indices = np.frombuffer(mmap.mmap(-1, 8 * w.batch * w.rows * w.topk), np.int64).reshape(size)
    asked = np.frombuffer(mmap.mmap(-1, 8), np.int64)
    if os.fork() == 0:
        last = 0
        while True:
            if asked[0] != last:
                last = asked[0]
                values[:], indices[:] = largest(given, w.topk)
            time.sleep(1e-5)

    def select(scores):
        given[:] = scores
        asked[0] += 1
        return values, indices

    return select
