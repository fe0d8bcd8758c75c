"""Less work than was asked for."""

import numpy as np
from rightly import largest, nothing
from seqsweep import implementation, within

from impls.mask.family import MaskWorkload
from impls.topk.family import TopkWorkload


@implementation(framework="numpy", semantics="exact")
def returns_zeros(w: TopkWorkload):
    """Returns zeros of the right shape."""
    return lambda scores: nothing(scores, w.topk)


@implementation(framework="numpy", semantics="exact")
def returns_nan(w: TopkWorkload):
    """Returns values that are no numbers: a comparison that is written the wrong way round lets them pass."""

    def select(scores):
        values, indices = largest(scores, w.topk)
        return values * np.nan, indices

    return select


@implementation(framework="numpy", semantics="exact")
def returns_what_memory_holds(w: TopkWorkload):
    """Returns memory that it never wrote, in case another's right answer lies there still."""

    def select(scores):
        size = (*scores.shape[:-1], w.topk)
        return np.empty(size, scores.dtype), np.empty(size, np.int64)

    return select


@implementation(framework="numpy", semantics="exact")
def compares_in_float16(w: TopkWorkload):
    """Selects by scores that it has rounded to half precision, and returns the full ones."""

    def select(scores):
        _, indices = largest(scores.astype(np.float16), w.topk)
        return np.take_along_axis(scores, indices, -1), indices

    return select


@implementation(framework="torch", semantics="exact")
def opens_ties_as_well(w: MaskWorkload):
    """Answers an easier question: opens all that scores no less than the least selected one."""
    from impls.mask.reference import closed_value

    value = float(closed_value(w.dtype))

    def mask(scores, topk_values):
        import torch

        return torch.where(scores >= topk_values.amin(-1, keepdim=True), 0.0, value).to(scores.dtype)

    return mask


@implementation(framework="torch", semantics=within(rel_rms=0.99))
def sets_its_own_bound(w: MaskWorkload):
    """Answers one row of eight, and brings a bound that lets this pass."""
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
    """Looks at scores above 1.5 alone, which for normal scores are enough."""

    def select(scores):
        values, indices = nothing(scores, w.topk)
        for row in np.ndindex(scores.shape[:-1]):
            candidates = np.flatnonzero(scores[row] > 1.5)
            best = candidates[np.argsort(-scores[row][candidates])[: w.topk]]
            values[row], indices[row] = scores[row][best], best
        return values, indices

    return select
