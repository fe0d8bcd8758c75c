"""A user's kernels: a decorated builder that raises Unsupported, and correct and incorrect callables."""

import numpy as np
from seqsweep import Unsupported, implementation

from impls.mask.family import MaskWorkload

CLOSED = np.float32(-0.7 * np.finfo(np.float32).max)


@implementation(framework="numpy", semantics="exact")
def refusing(w: MaskWorkload):
    raise Unsupported("seq is too odd; use another")


def opened(topk_indices, scores):
    mask = np.full(scores.shape, CLOSED)
    np.put_along_axis(mask, topk_indices, np.float32(0), axis=-1)
    return mask


def one_further(topk_indices, scores):
    return np.roll(opened(topk_indices, scores), 1, axis=-1)


def hide():
    def hidden(topk_indices, scores):
        return opened(topk_indices, scores)

    return hidden
