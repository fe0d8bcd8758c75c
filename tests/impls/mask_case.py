"""What the tests of masks share: references on the inputs they name, verdicts, open columns."""

import numpy as np

from harness import Evidence
from harness.catalog.arrays import short_name
from impls.mask.family import FAMILY, MaskWorkload
from tests.impls.jax_case import call
from tests.impls.judgements import assert_passed
from tests.impls.torch_case import named


def of(shape, **fields):
    return MaskWorkload(**dict(zip(("batch", "rows", "seq", "topk"), shape, strict=True)), **fields)


def drawn(w, seed=7):
    return dict(FAMILY.inputs(w, np.random.default_rng(seed)))


def reference(semantics, w, inputs, rows=None):
    """The reference's answer; floating inputs are given to it in double precision."""
    function = FAMILY.semantics[semantics].reference(w, rows)
    wide = {name: a if a.dtype.kind == "i" else a.astype(np.float64) for name, a in inputs.items()}
    return function(**named(function, wide))


def judged(semantics, w, inputs, result):
    evidence = Evidence(w, inputs, result, reference(semantics, w, inputs))
    return FAMILY.semantics[semantics].contract.judge(evidence)


def assert_contract(variant, w, **options):
    """The variant's result on drawn inputs, which keeps its contract and its dtype."""
    inputs = drawn(w)
    result = call(variant, w, inputs, **options)
    assert_passed(judged(variant.semantics, w, inputs, result))
    assert variant.semantics in {"packed", "blocks"} or short_name(result.dtype) == w.dtype
    return result


def opened(mask):
    """The open columns of every row, as lists."""
    return [np.flatnonzero(row == 0).tolist() for row in mask.reshape(-1, mask.shape[-1])]


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
        return opened(form)
    assert not bits[:, seq:].any()
    return [np.flatnonzero(row).tolist() for row in bits]
