"""Every mistake found in published sparse attention, made on purpose: the contract must notice it.

Traps are those of reviews of MSLK #296, fla, XunhaoLai's kernels and flash-attention: tokens of the
future (T1, T11, T12), empty rows (T3), duplicates (T4), more than was selected (T5), windows (T6),
tails (T7, T9), gradients that never arrive (T8, T13).
"""

import dataclasses

import numpy as np
import pytest

from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.mslk import _torch as _nsa_torch
from impls.attention.mslk.nsa_mslk import nsa_mslk
from impls.attention.mslk.nsa_mslk_upstream import nsa_mslk_upstream
from tests.impls.attention_case import attend, doubles, drawn, verdict
from tests.impls.judgements import judged
from tests.impls.torch_case import run

pytestmark = pytest.mark.torch

SMALL = AttentionWorkload(seq=640, heads=2, kv_heads=1, head_dim=16, block=16, selected=4, window=70)
DOUBLED = AttentionWorkload(seq=640, heads=2, kv_heads=1, head_dim=16, block=128, selected=4, window=70)


def of(w=SMALL, **fields):
    return dataclasses.replace(w, **fields)


def upstream_by_hand(w, inputs):
    """The selected branch and the window of one head, key by key, with a list that repeats."""
    q, k, v, gates = doubles(inputs, "q", "k", "v", "gates")
    k, v = k[:, 0], v[:, 0]
    mean_k = k.reshape(-1, w.block, w.head_dim).mean(1)
    result = np.zeros(q.shape)
    for t in range(w.seq):
        tile = slice(t // w.tile * w.tile, (t // w.tile + 1) * w.tile)
        visible = [j for j in range(len(mean_k)) if j * w.block < tile.stop]
        for h in range(w.heads):
            mean_q = q[tile, h].mean(0)
            picks = sorted(visible, key=lambda j: -(mean_q @ mean_k[j]))[: w.selected]
            picks += [0] * (min(w.selected, len(mean_k)) - len(picks))
            if w.block < 128:
                read = sorted({j * w.block // 128 for j in picks})
            else:
                read = [j * (w.block // 128) + i for j in picks for i in range(w.block // 128)]
            keys = [p for j in read for p in range(j * 128, (j + 1) * 128) if p <= t]
            near = list(range(max(0, t - w.window), t + 1))
            for gate, at in ((1, keys), (2, near)):
                result[t, h] += gates[t, h, gate] * attend(q[t, h], k[at], v[at])
    return result[None]


@pytest.mark.parametrize(
    "w", [of(seq=384), of(DOUBLED, seq=384), of(DOUBLED, seq=512, block=256, selected=2)]
)
def test_upstream_follows_what_its_kernels_do(w):
    w = of(w, dtype="f64", head_dim=4)
    inputs = drawn(w)
    inputs["gates"][..., 0] = 0
    want = upstream_by_hand(w, inputs)
    reference = FAMILY.semantics["nsa_mslk_upstream"].reference(w, None)
    np.testing.assert_allclose(run(reference, inputs, wide=True), want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run(nsa_mslk_upstream(w), inputs), want, rtol=1e-9, atol=1e-12)


# T4, T5, T6: each of upstream's three differences alone fails the formula's contract
GATES = {"duplicates": (of(DOUBLED, selected=3), (0, 1, 0)), "superset": (SMALL, (0, 1, 0))}
GATES["window"] = (SMALL, (0, 0, 1))


@pytest.mark.parametrize(("w", "gates"), GATES.values(), ids=GATES)
def test_upstreams_differences_are_seen(w, gates):
    inputs = drawn(w, gates)
    result = run(nsa_mslk_upstream(w), inputs)
    assert verdict("nsa_mslk_upstream", w, inputs, result).passed
    assert not verdict("nsa_mslk", w, inputs, result).passed
    assert not verdict("nsa_mslk_upstream", w, inputs, run(nsa_mslk(w), inputs)).passed


def future_means(monkeypatch):  # T11: block numbers compared with token numbers
    def broken(w, query, first, means, **others):
        return _nsa_compressed(dataclasses.replace(w, block=1), query, first, padded(w, means), **others)

    def padded(w, means):
        import torch

        rest = w.seq - means[0].shape[1]
        return [torch.cat([x, x.new_zeros(x.shape[0], rest, *x.shape[2:])], 1) for x in means]

    _nsa_compressed = _nsa_torch.attend_compressed
    monkeypatch.setattr(_nsa_torch, "attend_compressed", broken)


def repeated(monkeypatch):  # T4: block 0 in the place of a pick that does not exist
    def broken(w, query, first, tables, picks, **others):
        import torch

        return _gathered(w, query, first, tables, torch.where(picks < 0, 0, picks), **others)

    _gathered = _nsa_torch.attend_selected
    monkeypatch.setattr(_nsa_torch, "attend_selected", broken)


def tail(monkeypatch):  # T7: floor(seq / tile) tiles are scored, so the last one has no selection
    def broken(w, query, scoring, first, *rest, **others):
        picks, groups = _select(w, query, scoring, first, *rest, **others)
        picks[:, max(0, w.seq // w.tile - first // w.tile) :] = -1
        return picks, groups

    _select = _nsa_torch.select_blocks
    monkeypatch.setattr(_nsa_torch, "select_blocks", broken)


@pytest.mark.parametrize("sentinel", [-np.inf, -1e4])
def test_an_empty_row_that_is_no_zero_fails(sentinel):
    """T3, T12: over −inf alone a softmax is NaN, over a finite sentinel a mean of the future."""
    import torch

    from impls.attention._references.attention import products

    w = of(seq=256, selected=1)
    inputs = drawn(w, gates=(0, 1, 0))
    inputs["q"][:], inputs["k"][:, 160:176] = 1, 2
    result = run(nsa_mslk(w), inputs)
    assert verdict("nsa_mslk", w, inputs, result).passed
    q, k, v = (torch.from_numpy(inputs[name]) for name in "qkv")
    keys = torch.arange(160, 176)
    scores = products(q, k[:, keys]).masked_fill(keys > torch.arange(w.seq)[:, None], sentinel)
    wrong = torch.einsum("bhrn,bnd->brhd", torch.softmax(scores, -1), v[:, keys, 0]).numpy()
    np.testing.assert_allclose(wrong[:, 160:], result[:, 160:], atol=1e-5)
    assert not verdict("nsa_mslk", w, inputs, wrong).passed


@pytest.mark.parametrize(
    ("spoil", "w"), [(future_means, SMALL), (tail, of(seq=592)), (repeated, of(selected=30))]
)
def test_a_spoiled_forward_fails(spoil, w, monkeypatch):
    assert judged(FAMILY, nsa_mslk, w).passed
    spoil(monkeypatch)
    assert not judged(FAMILY, nsa_mslk, w).passed


# T8, T13: a branch's lists for the backward are empty
@pytest.mark.parametrize("name", ["attend_compressed", "attend_selected", "attend_window"])
def test_a_branch_without_gradient_fails(name, monkeypatch):
    branch = getattr(_nsa_torch, name)
    monkeypatch.setattr(_nsa_torch, name, lambda *a, **b: branch(*a, **b).detach())
    assert judged(FAMILY, nsa_mslk, SMALL).passed
    assert not judged(FAMILY, nsa_mslk, SMALL, backward=True).passed
