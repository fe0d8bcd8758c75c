"""Answers in memory of the implementation's own, which it knows from earlier calls."""

from itertools import cycle

from seqsweep import implementation

from impls.mask.family import MaskWorkload


def closed_masks(w, count):
    import torch

    from impls.mask.reference import closed_value

    value = float(closed_value(w.dtype))
    return [torch.full((w.batch, w.rows, w.seq), value) for _ in range(count)], value


@implementation(framework="torch", semantics="exact")
def mends_old_masks(w: MaskWorkload):
    """Has sixteen masks of its own, and changes in each only the columns that were open in it."""
    masks, value = closed_masks(w, 16)
    ring = cycle([[mask, None] for mask in masks])

    def mask(topk_indices):
        mine = next(ring)
        if mine[1] is not None:
            mine[0].scatter_(-1, mine[1], value)
        mine[1] = topk_indices.long()
        return mine[0].scatter_(-1, mine[1], 0.0)

    return mask


@implementation(framework="torch", semantics="exact")
def answers_in_turns_in_its_own_masks(w: MaskWorkload):
    """Writes whole masks, in turns into sixteen of its own: no call waits for memory."""
    masks, value = closed_masks(w, 16)
    ring = cycle(masks)

    def mask(topk_indices):
        return next(ring).fill_(value).scatter_(-1, topk_indices.long(), 0.0)

    return mask


@implementation(framework="numpy", semantics="exact")
def maps_a_closed_mask(w: MaskWorkload):
    """Maps a closed mask whose pages are its own once they are written to, and opens columns in it."""
    import mmap
    import os

    import numpy as np

    from impls.mask.reference import closed_value

    shape = (w.batch, w.rows, w.seq)
    file = os.memfd_create("mask")
    os.write(file, np.full(shape, closed_value(w.dtype), np.float32).tobytes())
    size = 4 * w.batch * w.rows * w.seq

    def mask(topk_indices):
        mapped = mmap.mmap(file, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
        out = np.frombuffer(mapped, np.float32).reshape(shape)
        np.put_along_axis(out, topk_indices, np.float32(0), axis=-1)
        return out

    return mask
