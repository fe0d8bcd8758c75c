"""Packed sequences in MSLK's sparse attention: each is attended as if it were alone."""

import dataclasses

import numpy as np
import pytest

from harness import Evidence, Unsupported
from impls.attention import _branches, _nsa_torch
from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.nsa_mslk import nsa_mslk
from impls.attention.nsa_mslk_jax import nsa_mslk_jax
from impls.attention.nsa_mslk_sparse_compressed import nsa_mslk_sparse_compressed
from impls.attention.nsa_mslk_upstream import nsa_mslk_upstream
from tests.impls.torch_case import gradients, judged, run, run_marks

pytestmark = pytest.mark.torch

SPARSE = (nsa_mslk, nsa_mslk_sparse_compressed, nsa_mslk_upstream)
NAMES = [variant.name for variant in SPARSE]
LENGTHS = [1, 15, 255, 257, 500]
SMALL = AttentionWorkload(
    seq=sum(LENGTHS), heads=2, kv_heads=1, head_dim=8, block=32, selected=3, window=70, tile=128,
    compressed_block=2, compressed_selected=2, varlen=True, segments=len(LENGTHS),
)  # fmt: skip
LARGE = dataclasses.replace(SMALL, tile=256, block=128, gated=False)  # upstream repeats block 0 here


def of(w=SMALL, **fields):
    return dataclasses.replace(w, **fields)


def drawn(w, lengths=LENGTHS):
    inputs = dict(FAMILY.inputs(w, np.random.default_rng(0)))
    inputs["cu_seqlens"] = np.cumsum([0, *lengths]).astype(np.int32)
    return inputs


def answers(function, w, inputs, wide=False):
    """The result and all gradients under a cotangent that belongs to a token, wherever it stands."""
    cotangent = np.random.default_rng(1).standard_normal(inputs["q"].shape)
    if "at" in inputs:
        whole = np.random.default_rng(1).standard_normal((1, SMALL.seq, *inputs["q"].shape[2:]))
        cotangent = whole[:, inputs["at"]]
    result, found = gradients(function, inputs, cotangent, wide=wide)
    return {"result": result, **found}


@pytest.mark.parametrize("w", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("variant", SPARSE, ids=NAMES)
def test_a_packed_sequence_is_one_alone(variant, w):
    """Forward and backward, of the implementation and of its reference, which takes any length alone."""
    w = of(w, dtype="f64")
    inputs = drawn(w)
    reference = FAMILY.semantics[variant.semantics].reference
    for build, wide in ((variant, False), (lambda w: reference(w, None), True)):
        packed = answers(build(w), w, inputs, wide)
        start = 0
        for length in LENGTHS:
            part = slice(start, start + length)
            own = {name: x[:, part] for name, x in inputs.items() if name != "cu_seqlens"}
            own |= {"cu_seqlens": np.array([0, length], np.int32), "at": part}
            alone = answers(build(of(w, seq=length, segments=1)), w, own, wide)
            assert alone.keys() == packed.keys() >= {"result", "q", "k", "v"}
            for name, values in alone.items():
                np.testing.assert_allclose(packed[name][:, part], values, rtol=1e-10, atol=1e-12)
            start += length


@pytest.mark.parametrize("w", [SMALL, of(LARGE, dtype="bf16", kv_heads=2)], ids=["small", "large"])
@pytest.mark.parametrize("variant", SPARSE, ids=NAMES)
@pytest.mark.parametrize("backward", [False, True])
def test_packed_results_match_the_reference(variant, w, backward):
    judgement = judged(FAMILY, variant, w, backward=backward)
    assert judgement.passed, judgement.reason


@pytest.mark.parametrize("variant", SPARSE, ids=NAMES)
def test_whole_blocks_are_the_fixed_length(variant):
    """A sequence alone in its pack, of whole blocks, is what varlen=false computes."""
    fixed = of(varlen=False, seq=320, dtype="f64")
    w = of(fixed, varlen=True, segments=1)
    inputs = drawn(w, [320])
    for function in (variant, lambda w: FAMILY.semantics[variant.semantics].reference(w, None)):
        np.testing.assert_array_equal(run(function(w), inputs), run(function(fixed), inputs))


def by_hand(w, q, k, v, gates):
    """nsa_mslk of one sequence of any length, one key head, query by query."""
    seq = len(q)
    means = [(k[i : i + w.block].mean(0), v[i : i + w.block].mean(0)) for i in range(0, seq, w.block)]
    result = np.zeros(q.shape)
    for t in range(seq):
        begin = t // w.tile * w.tile
        for h in range(q.shape[1]):
            query = q[begin : begin + w.tile, h].mean(0)
            score = {j: query @ means[j][0] for j in range(len(means)) if j * w.block < begin + w.tile}
            best = sorted(score, key=lambda j: -score[j])[: w.selected]
            branches = [
                [means[j] for j in range(len(means)) if j * w.block <= t],
                [(k[p], v[p]) for p in range(t + 1) if p // w.block in best],
                [(k[p], v[p]) for p in range(max(0, t - w.window + 1), t + 1)],
            ]
            for gate, pairs in zip(gates[t, h], branches, strict=True):
                if pairs:
                    keys, values = (np.array(x) for x in zip(*pairs, strict=True))
                    weights = np.exp(keys @ q[t, h] / np.sqrt(q.shape[-1]))
                    result[t, h] += gate * (weights @ values) / weights.sum()
    return result


def test_both_follow_the_definition():
    lengths = [1, 3, 38]
    w = of(seq=42, heads=2, kv_heads=1, head_dim=4, block=4, selected=2, window=9, tile=16, dtype="f64")
    inputs = drawn(w, lengths)
    q, k, v, gates = (inputs[name][0] for name in ("q", "k", "v", "gates"))
    cuts = np.cumsum(lengths)[:-1]
    parts = zip(*(np.split(x, cuts) for x in (q, k[:, 0], v[:, 0], gates)), strict=True)
    want = np.concatenate([by_hand(w, *part) for part in parts])[None]
    np.testing.assert_allclose(run(nsa_mslk(w), inputs), want, rtol=1e-10)
    reference = FAMILY.semantics["nsa_mslk"].reference(w, None)
    np.testing.assert_allclose(run(reference, inputs, wide=True), want, rtol=1e-10)


def verdict(w, inputs, result):
    meaning = FAMILY.semantics["nsa_mslk"]
    expected = run(meaning.reference(w, None), inputs, wide=True)
    marks = run_marks(meaning.ambiguous(w, None), inputs)
    return meaning.contract.judge(Evidence(w, inputs, result, expected, None, marks))


@pytest.mark.parametrize("rule", ["dropped", "zeros"])
def test_upstreams_own_tails_fail(rule, monkeypatch):
    """Its two rules for the last block: no mean of it, or a mean with zeros in it."""

    def broken(x, size, dtype=None):
        import torch

        rest = x.shape[1] % size
        if rule == "zeros":
            whole = _branches.pad_to_multiple(x, size)
            return whole.unflatten(1, (-1, size)).mean(2, dtype=dtype)
        means = block_means(x, size, dtype)
        return torch.cat([means[:, :-1], 0 * means[:, -1:]], 1) if rest else means

    block_means = _branches.block_means
    inputs = drawn(SMALL)
    assert verdict(SMALL, inputs, run(nsa_mslk(SMALL), inputs)).passed
    monkeypatch.setattr(_nsa_torch, "block_means", broken)
    assert not verdict(SMALL, inputs, run(nsa_mslk(SMALL), inputs)).passed


def test_a_tail_tile_without_selection_fails(monkeypatch):
    """T7: floor(length / tile) tiles are scored, so the last one selects nothing."""

    def broken(w, query, scoring, first, group):
        picks, groups = _select(w, query, scoring, first, group)
        picks[:, max(0, w.seq // w.tile - first // w.tile) :] = -1
        return picks, groups

    _select = _nsa_torch._select
    inputs = drawn(SMALL)
    monkeypatch.setattr(_nsa_torch, "_select", broken)
    assert not verdict(SMALL, inputs, run(nsa_mslk(SMALL), inputs)).passed


@pytest.mark.parametrize("name", NAMES)
def test_references_and_marks_give_single_rows(name):
    w, rows = of(), np.array([0, 1, 15, 16, 270, 271, 272, 527, 528, 900, 1027])
    inputs = drawn(w)
    meaning = FAMILY.semantics[name]
    whole, part = (run(meaning.reference(w, chosen), inputs, wide=True) for chosen in (None, rows))
    np.testing.assert_allclose(part, whole[:, rows], rtol=1e-12, atol=1e-14)
    marks = run_marks(meaning.ambiguous(w, None), inputs)
    assert marks.mean() < 0.2
    assert np.array_equal(run_marks(meaning.ambiguous(w, rows), inputs), marks[:, rows])


def test_xla_wants_lengths_beforehand():
    with pytest.raises(Unsupported, match="varlen=true"):
        nsa_mslk_jax(SMALL)


@pytest.mark.parametrize("block", [128, 256])
def test_small_steps_count_block_0_as_often(block, monkeypatch):
    """Upstream's picks that do not exist are as many in a step that sees few blocks."""
    w = of(varlen=False, seq=1024, block=block, tile=256, dtype="f64")
    assert judged(FAMILY, nsa_mslk_upstream, w).passed
    monkeypatch.setattr(_nsa_torch, "STEP_TILES", 1)
    assert judged(FAMILY, nsa_mslk_upstream, w).passed
