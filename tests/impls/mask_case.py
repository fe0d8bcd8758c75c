"""What the tests of masks share: references on the inputs they name, verdicts, open columns."""

from functools import partial

import numpy as np

from impls.mask.family import FAMILY
from tests.impls.judgements import verdict
from tests.impls.torch_case import named


def drawn(w, seed=7):
    return dict(FAMILY.inputs(w, np.random.default_rng(seed)))


def reference(semantics, w, inputs, rows=None):
    """The reference's answer; floating inputs are given to it in double precision."""
    function = FAMILY.semantics[semantics].reference(w, rows)
    wide = {name: a if a.dtype.kind == "i" else a.astype(np.float64) for name, a in inputs.items()}
    return function(**named(function, wide))


judged = partial(verdict, FAMILY)


def columns(form, seq):
    """The open columns of every row, from a mask or from one in words or blocks."""
    if isinstance(form, dict):
        inside = form["inside"]
        assert np.array_equal(form["held"], inside.any(axis=-1))
        bits = inside.reshape(-1, inside.shape[-2] * inside.shape[-1])
    elif form.dtype == np.uint32:
        little = form.reshape(-1, form.shape[-1]).astype("<u4").view(np.uint8)
        bits = np.unpackbits(little, axis=-1, bitorder="little")
    else:
        return [np.flatnonzero(row == 0).tolist() for row in form.reshape(-1, form.shape[-1])]
    assert not bits[:, seq:].any()
    return [np.flatnonzero(row).tolist() for row in bits]
