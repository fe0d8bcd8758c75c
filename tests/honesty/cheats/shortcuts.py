"""Less work than requested."""

import numpy as np
from seqsweep import implementation, within
from shared_functions import largest, nothing

from impls.mask.family import MaskWorkload
from impls.topk.family import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def returns_zeros(w: TopkWorkload):
    """Returns zeros of the right shape."""
    return lambda scores: nothing(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def returns_nan(w: TopkWorkload):
    """Returns NaN, which passes an inverted comparison."""

    def select(scores):
        values, indices = largest(scores, w.topk)
        return values * np.nan, indices

    return select


@implementation(framework="numpy", semantics="exact")
def returns_what_memory_holds(w: TopkWorkload):
    """Returns uninitialised memory, which may contain a correct result."""

    def select(scores):
        size = (*scores.shape[:-1], w.topk)
        return np.empty(size, scores.dtype), np.empty(size, np.int64)

    return select


@implementation(framework="numpy", semantics="exact")
def answers_half_the_rows(w: TopkWorkload):
    """Computes every other row."""

    def select(scores):
        values, indices = nothing(scores, w.topk)
        values[:, ::2], indices[:, ::2] = largest(scores[:, ::2], w.topk)
        return values, indices

    return select


@implementation(framework="numpy", semantics="exact")
def compares_in_float16(w: TopkWorkload):
    """Selects by scores rounded to half precision, and returns the unrounded ones."""

    def select(scores):
        _, indices = largest(scores.astype(np.float16), w.topk)
        return np.take_along_axis(scores, indices, -1), indices

    return select


@implementation(framework="torch", semantics="exact")
def opens_ties_as_well(w: MaskWorkload):
    """Opens every score that is at least the lowest selected one."""
    from impls.mask.reference import closed_value

    value = float(closed_value(w.dtype))

    def mask(scores, topk_values):
        import torch

        return torch.where(scores >= topk_values.amin(-1, keepdim=True), 0.0, value).to(scores.dtype)

    return mask


@implementation(framework="torch", semantics=within(rel_rms=0.99))
def sets_its_own_bound(w: MaskWorkload):
    """Computes one row of eight, and states a bound that allows this."""
    from impls.mask.reference import closed_value

    value = float(closed_value(w.dtype))

    def mask(topk_indices):
        import torch

        shut = torch.zeros(w.batch, w.rows, w.seq)
        shut[:, 0] = value
        shut[:, 0].scatter_(-1, topk_indices[:, 0].long(), 0)
        return shut

    return mask


@implementation(framework="numpy", semantics="exact")
def bets_on_the_draw(w: TopkWorkload):
    """Considers only scores above 1.5, which is enough for normal scores."""

    def select(scores):
        values, indices = nothing(scores, w.topk)
        for row in np.ndindex(scores.shape[:-1]):
            candidates = np.flatnonzero(scores[row] > 1.5)
            best = candidates[np.argsort(-scores[row][candidates])[: w.topk]]
            values[row], indices[row] = scores[row][best], best
        return values, indices

    return select
