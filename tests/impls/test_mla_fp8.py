"""Weights in float8_e4m3 with a scale per block of 128 × 128: packing, decoding, uneven shapes."""

import numpy as np
import pytest

from impls.mla import _torch
from impls.mla import reference as plainly
from impls.mla._inputs import numbers, plain, quantise
from impls.mla.family import MlaWorkload
from tests.impls.mla_trial import drawn
from tests.impls.torch_case import array, tensor, tensors

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("uneven")]


def decoded(words, scales, dtype):
    """Both decoders' numbers, [the variants', the reference's], in double precision."""
    weights = {"a": tensor(words), "a_scale": tensor(scales), "kv_norm": tensor(np.ones(1, dtype))}
    shared = _torch.dequantise(MlaWorkload(seq=1, weights="fp8_block"), weights)
    wide = {"a": tensor(words), "a_scale": tensor(scales, wide=True)}
    assert set(shared) == {"a", "kv_norm"}
    return array(shared["a"]), array(plainly.dequantise(wide)["a"])


def test_all_finite_bit_patterns_are_read():
    bits = np.array([b for b in range(256) if b & 127 != 127], np.uint8)  # those two are NaN
    words = np.pad(bits, (0, 2)).view("<i4")[None]
    for got in decoded(words, np.ones((1, 2), np.float32), np.float32):
        known = dict(zip(bits, got[0, : len(bits)], strict=True))
        assert known[0b0_0000_000] == 0
        assert known[0b0_0000_001] == 2**-9
        assert known[0b0_0000_111] == 7 * 2**-9
        assert known[0b0_0001_000] == 2**-6
        assert known[0b0_0111_000] == 1
        assert known[0b0_0111_100] == 1.5
        assert known[0b1_1000_010] == -2.5
        assert known[0b0_1111_110] == 448
        assert all(known[b | 128] == -known[b] for b in range(127))
        assert np.all(np.diff([known[b] for b in range(127)]) > 0)


@pytest.mark.parametrize("shape", [(576, 256), (128, 128), (130, 132), (1, 4), (127, 260), (256, 516)])
def test_every_number_has_the_scale_of_its_block(shape):
    """The f8 number 1 everywhere, and a different scale for each block; the last blocks are partial."""
    blocks = [-(-size // 128) for size in shape]
    scales = 2.0 ** np.arange(np.prod(blocks), dtype=np.float32).reshape(blocks)
    words = np.full((shape[0], shape[1] // 4), 0x38383838, np.int32)
    want = np.empty(shape)
    for row, column in np.ndindex(*shape):
        want[row, column] = scales[row // 128, column // 128]
    for got in decoded(words, scales, np.float32):
        assert np.array_equal(got, want)
    assert np.array_equal(numbers({"a": words, "a_scale": scales}, "a", np.float64), want)


def test_quantising_loses_at_most_a_sixteenth_of_a_number():
    """Three bits of mantissa round by 1/16; the largest of a block is exact, up to its scale."""
    weight = np.random.default_rng(0).standard_normal((144, 160), dtype=np.float32)
    weight[:128, :128] *= 100
    weight[128:, 128:] = 0
    weight[130, 130] = 3
    words, scales = quantise(weight)
    assert words.shape == (144, 40)
    assert words.dtype == np.int32
    assert scales.shape == (2, 2)
    back = numbers({"a": words, "a_scale": scales}, "a", np.float64)
    fine = np.abs(weight) > scales.repeat(128, 0).repeat(128, 1)[:144, :160] * 2**-6
    assert (np.abs(back - weight)[fine] <= np.abs(weight)[fine] / 16 * (1 + 1e-6)).all()
    np.testing.assert_allclose(back[128:, 128:].max(), 3, rtol=1e-6)
    assert np.count_nonzero(back[128:, 128:]) == 1
    assert scales[0, 0] > 50 * scales[0, 1]


def test_decoding_needs_no_more_than_the_dtype():
    """In f64 the product is exact; in bf16 it is the f32 product, rounded once."""
    w = MlaWorkload(seq=1, weights="fp8_block", dtype="bf16")
    weights = drawn(w)["weights"]
    shared, before = _torch.dequantise(w, tensors(weights)), plain(w, weights)
    exact = plainly.dequantise(tensors(weights, wide=True))
    for name in ("wq", "wkv_a", "wkv_b", "wo"):
        assert np.array_equal(array(shared[name]), before[name].astype(np.float64)), name
        error = np.abs(array(shared[name]) - array(exact[name]))
        assert (error <= np.abs(array(exact[name])) * 2**-8).all()
