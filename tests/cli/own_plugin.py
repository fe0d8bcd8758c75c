"""Masks with their authors' own semantics and bounds, some of which cannot be judged."""

from seqsweep import OwnSemantics, implementation, within

from impls.mask.family import MaskWorkload


def _opened(w, columns):
    import numpy as np

    mask = np.zeros((w.batch, w.rows, w.seq), np.float32)
    np.put_along_axis(mask, columns, 1.0, axis=-1)
    return mask


def ones(w, rows):
    """A mask that is 1 where a column is selected, and 0 elsewhere."""

    def select(topk_indices):
        mask = _opened(w, topk_indices)
        return mask if rows is None else mask[:, rows]

    return select


def raises(w, rows):
    def select(topk_indices):
        raise ValueError("no such mask")

    return select


def narrow(w, rows):
    return lambda topk_indices: _opened(w, topk_indices)[:, :1]


SMOOTH = OwnSemantics(within(rel_rms=0.02), ones, name="ones")


@implementation(framework="numpy", semantics=SMOOTH)
def smooth(w: MaskWorkload):
    """A mask of 0.99 and 0."""
    return lambda topk_indices: 0.99 * _opened(w, topk_indices)


@implementation(framework="numpy", semantics=SMOOTH)
def rough(w: MaskWorkload):
    """A mask of 0.9 and 0."""
    return lambda topk_indices: 0.9 * _opened(w, topk_indices)


@implementation(framework="numpy", semantics=within(rel_rms=0.25))
def near(w: MaskWorkload):
    """The family's mask with closed values a fifth too small."""
    return lambda topk_indices: (_opened(w, topk_indices) - 1) * 0.56e38 * 3.4028234663852886


@implementation(framework="numpy", semantics=OwnSemantics(within(rel_rms=0.1), raises))
def unjudged(w: MaskWorkload):
    return lambda topk_indices: _opened(w, topk_indices)


@implementation(framework="numpy", semantics=OwnSemantics(within(rel_rms=0.1), narrow))
def misshapen(w: MaskWorkload):
    return lambda topk_indices: _opened(w, topk_indices)


@implementation(framework="numpy", semantics=OwnSemantics(within(rel_rms=0.1), ones))
def transposed(w: MaskWorkload):
    return lambda topk_indices: _opened(w, topk_indices).transpose(0, 2, 1)
