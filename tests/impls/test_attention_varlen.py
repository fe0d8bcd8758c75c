"""Packed sequences: each is attended as if it were alone."""

import dataclasses

import numpy as np
import pytest

from harness import Array, Unsupported
from impls.attention import _branches
from impls.attention._checks.probe import probe
from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.mslk import _torch as _nsa_torch
from tests.impls.attention_case import drawn, mslk_by_hand, slices, verdict
from tests.impls.judgements import judged
from tests.impls.test_attention_traps import tail
from tests.impls.torch_case import gradients, run
from tests.impls.variants import ATTENTION as V

pytestmark = pytest.mark.torch

SPARSE = (V.nsa_mslk, V.nsa_mslk_sparse_compressed, V.nsa_mslk_upstream)
PACKED = (V.dense, *SPARSE, V.nsa_paper)
LENGTHS = [1, 15, 255, 257, 500]
SMALL = AttentionWorkload(
    seq=sum(LENGTHS), heads=2, kv_heads=1, head_dim=8, block=32, selected=3, window=70, tile=128,
    compressed_block=2, compressed_selected=2, varlen=True, segments=len(LENGTHS),
)  # fmt: skip
LARGE = dataclasses.replace(SMALL, tile=256, block=128, gated=False)  # upstream repeats block 0 here


def of(w=SMALL, **fields):
    return dataclasses.replace(w, **fields)


def answers(function, w, inputs, wide=False):
    """The result and all gradients under a cotangent that belongs to a token, wherever it stands."""
    cotangent = np.random.default_rng(1).standard_normal(inputs["q"].shape)
    if "at" in inputs:
        whole = np.random.default_rng(1).standard_normal((1, SMALL.seq, *inputs["q"].shape[2:]))
        cotangent = whole[:, inputs["at"]]
    result, found = gradients(function, inputs, cotangent, wide=wide)
    return {"result": result, **found}


@pytest.mark.parametrize("w", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("variant", PACKED, ids=lambda variant: variant.name)
def test_a_packed_sequence_is_one_alone(variant, w):
    """Forward and backward, of the implementation and of its reference, which takes any length alone."""
    w = of(w, dtype="f64")
    inputs = drawn(w, lengths=LENGTHS)
    reference = FAMILY.semantics[variant.semantics].reference
    for build, wide in ((variant, False), (lambda w: reference(w, None), True)):
        packed = answers(build(w), w, inputs, wide)
        for length, part in zip(LENGTHS, slices(LENGTHS), strict=True):
            own = {name: x[:, part] for name, x in inputs.items() if name != "cu_seqlens"}
            own |= {"cu_seqlens": np.array([0, length], np.int32), "at": part}
            alone = answers(build(of(w, seq=length, segments=1)), w, own, wide)
            assert alone.keys() == packed.keys() >= {"result", "q", "k", "v"}
            for name, values in alone.items():
                np.testing.assert_allclose(packed[name][:, part], values, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("variant", PACKED, ids=lambda variant: variant.name)
def test_whole_blocks_are_the_fixed_length(variant):
    """A sequence alone in its pack, of whole blocks, is what varlen=false computes."""
    fixed = of(varlen=False, seq=320, dtype="f64")
    w = of(fixed, varlen=True, segments=1)
    inputs = drawn(w, lengths=[320])
    for function in (variant, lambda w: FAMILY.semantics[variant.semantics].reference(w, None)):
        np.testing.assert_array_equal(run(function(w), inputs), run(function(fixed), inputs))


def test_both_follow_the_definition():
    lengths = [1, 3, 38]
    w = of(seq=42, heads=2, kv_heads=1, head_dim=4, block=4, selected=2, window=9, tile=16, dtype="f64")
    inputs = drawn(w, lengths=lengths)
    own = [{name: inputs[name][:, part] for name in ("q", "k", "v", "gates")} for part in slices(lengths)]
    want = np.concatenate([mslk_by_hand(w, one) for one in own], 1)
    np.testing.assert_allclose(run(V.nsa_mslk(w), inputs), want, rtol=1e-10)
    reference = FAMILY.semantics["nsa_mslk"].reference(w, None)
    np.testing.assert_allclose(run(reference, inputs, wide=True), want, rtol=1e-10)


@pytest.mark.parametrize("rule", ["dropped", "zeros"])
def test_upstreams_own_tails_fail(rule, monkeypatch):
    """Its two rules for the last block: no mean of it, or a mean with zeros in it."""

    def broken(x, size, dtype=None, lengths=None):
        import torch

        rest = x.shape[1] % size
        if rule == "zeros":
            return _branches.pad_to_multiple(x, size).unflatten(1, (-1, size)).mean(2, dtype=dtype)
        means = block_means(x, size, dtype)
        return torch.cat([means[:, :-1], 0 * means[:, -1:]], 1) if rest else means

    block_means = _branches.block_means
    inputs = drawn(SMALL, lengths=LENGTHS)
    assert verdict("nsa_mslk", SMALL, inputs, run(V.nsa_mslk(SMALL), inputs)).passed
    monkeypatch.setattr(_nsa_torch, "block_means", broken)
    assert not verdict("nsa_mslk", SMALL, inputs, run(V.nsa_mslk(SMALL), inputs)).passed


def test_a_tail_tile_without_selection_fails(monkeypatch):
    """T7: floor(length / tile) tiles are scored, so the last one selects nothing."""
    inputs = drawn(SMALL, lengths=LENGTHS)
    tail(monkeypatch)
    assert not verdict("nsa_mslk", SMALL, inputs, run(V.nsa_mslk(SMALL), inputs)).passed


@pytest.mark.parametrize("block", [128, 256])
def test_small_steps_count_block_0_as_often(block, monkeypatch):
    """Upstream's picks that do not exist are as many in a step that sees few blocks."""
    w = of(varlen=False, seq=1024, block=block, tile=256, dtype="f64")
    assert judged(FAMILY, V.nsa_mslk_upstream, w).passed
    monkeypatch.setattr(_nsa_torch, "STEP_TILES", 1)
    assert judged(FAMILY, V.nsa_mslk_upstream, w).passed


@pytest.mark.parametrize("lengths", [[42, 250, 1, 27], [64, 64, 64, 128], [256, 64]])
def test_padding_changes_nothing_but_rounding(lengths):
    """Zeros behind a sequence are in no mean and in no block that could be picked, gradients included."""
    w = of(seq=sum(lengths), segments=len(lengths), dtype="f64")
    inputs = drawn(w, lengths=lengths)
    native, together = (answers(variant(w), w, inputs) for variant in (V.nsa_mslk, V.nsa_mslk_padded))
    for name, values in native.items():
        np.testing.assert_allclose(together[name], values, rtol=1e-9, atol=1e-11)


def test_cuts_are_where_they_are_asked_for():
    assert drawn(of(seq=320, segments=4, cuts="uniform"))["cu_seqlens"].tolist() == [0, 80, 160, 240, 320]
    assert drawn(of(seq=320, segments=2, cuts="60_40"))["cu_seqlens"].tolist() == [0, 192, 320]
    with pytest.raises(Unsupported, match="cuts=60_40 packs two sequences, not 4; use segments=2"):
        FAMILY.shapes(of(segments=4, cuts="60_40"))


@pytest.mark.parametrize("fields", [{}, {"varlen": True, "segments": 5, "seq": 1028}])
def test_checks_of_packed_documents_have_sequences_of_their_own(fields):
    """A probe is small and cut where the check says: no document of a corpus lies in it."""
    w = AttentionWorkload(seq=4096, varlen=True, lengths="pretrain")
    probed = probe(w, **fields)
    shapes = FAMILY.shapes(probed)
    assert not probed.packed
    assert ("cu_seqlens" in shapes) == bool(fields)
    assert shapes.get("cu_seqlens", Array((6,), "i32")) == Array((6,), "i32")
