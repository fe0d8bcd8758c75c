"""More of the machine than was given."""

import os

import numpy as np
from rightly import largest
from seqsweep import implementation

from impls.topk.family import TopkWorkload

HELD = np.ones(1 << 23)  # 64 MiB that exist before anything is counted


@implementation(framework="numpy", semantics="exact")
def allocates_when_imported(w: TopkWorkload):
    """Holds a buffer since its module was imported, before anybody counts memory."""

    def select(scores):
        keys = HELD[: scores.size].reshape(scores.shape)
        keys[:] = scores
        _, indices = largest(keys, w.topk)
        return np.take_along_axis(scores, indices, -1), indices

    return select


@implementation(framework="torch", semantics="exact")
def asks_for_more_threads(w: TopkWorkload):
    """Sets the variables and the switches of torch to 64 threads."""
    import torch

    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "64"
    torch.set_num_threads(64)
    return lambda scores: tuple(scores.topk(w.topk))


@implementation(framework="numpy", semantics="exact")
def leaves_its_cores(w: TopkWorkload):
    """Lets itself run on every core of the machine, and shares its rows out among them."""
    from concurrent.futures import ThreadPoolExecutor

    cores = range(os.cpu_count() or 1)
    os.sched_setaffinity(0, cores)
    pool = ThreadPoolExecutor(len(cores))

    def select(scores):
        parts = np.array_split(scores, len(cores), axis=1)
        answers = list(pool.map(lambda part: largest(part, w.topk), parts))
        return tuple(np.concatenate(pieces, axis=1) for pieces in zip(*answers, strict=True))

    return select
