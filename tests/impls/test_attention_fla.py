"""fla's form of sparse attention: its definition by hand, its traps, and how its package is called."""

import dataclasses
import sys
import types

import numpy as np
import pytest

from harness import Evidence, Unsupported
from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.fla.nsa_fla import nsa_fla
from impls.attention.fla.nsa_fla_torch import nsa_fla_torch
from impls.attention.paper import _torch as _nsa_paper
from impls.attention.paper.nsa_paper import nsa_paper
from tests.impls.attention_case import attend, doubles, drawn, rows_moved, softmax, verdict
from tests.impls.torch_case import run, tensors

pytestmark = pytest.mark.torch

SMALL = AttentionWorkload(seq=150, heads=4, kv_heads=2, head_dim=8, block=16, selected=4, window=20)
KERNEL = AttentionWorkload(seq=64, heads=32, kv_heads=2, head_dim=16, block=16, dtype="bf16")
MEANING = FAMILY.semantics["nsa_fla"]


def of(w=SMALL, **fields):
    return dataclasses.replace(w, **fields)


def by_hand(w, inputs):
    """Query by query for one key head; probabilities averaged over heads, forced blocks at 1."""
    q, k, v, gates = doubles(inputs, "q", "k", "v", "gates")
    k, v = k[:, 0], v[:, 0]
    whole = range(w.seq // w.block)
    mean_k, mean_v = (np.array([x[c * w.block : (c + 1) * w.block].mean(0) for c in whole]) for x in (k, v))
    result = np.zeros(q.shape)
    for t in range(w.seq):
        seen, own = (t + 1) // w.block, t // w.block
        mass = np.zeros(own + 1)
        for h in range(w.heads):
            if seen:
                p = softmax(mean_k[:seen] @ q[t, h] / np.sqrt(w.head_dim))
                mass[:seen] += p / w.heads
                result[t, h] += gates[t, h, 0] * (p @ mean_v[:seen])
        mass[[0, own, max(own - 1, 0)]] = 1
        best = np.argsort(-mass, kind="stable")[: w.selected]
        chosen = [s for s in range(t + 1) if s // w.block in best]
        near = list(range(max(0, t - w.window + 1), t + 1))
        for h in range(w.heads):
            for gate, at in ((1, chosen), (2, near)):
                result[t, h] += gates[t, h, gate] * attend(q[t, h], k[at], v[at])
    return result[None]


@pytest.mark.parametrize("seq", [150, 128, 15])
def test_both_follow_the_definition(seq):
    w = of(seq=seq, heads=2, kv_heads=1, dtype="f64")
    inputs = drawn(w)
    want = by_hand(w, inputs)
    np.testing.assert_allclose(run(MEANING.reference(w, None), inputs, wide=True), want, rtol=1e-10)
    np.testing.assert_allclose(run(nsa_fla_torch(w), inputs), want, rtol=1e-10)


def test_a_mean_shows_when_its_block_is_complete():
    """Token 40 of block 2, tokens 32 to 47: the first query that reads its mean is 47."""
    function = nsa_fla_torch(SMALL)
    assert rows_moved(function, drawn(SMALL, gates=(1, 0, 0)), 40)[0] == 47
    assert rows_moved(function, drawn(SMALL), 40)[0] == 40
    assert rows_moved(function, drawn(SMALL, gates=(0, 0, 1)), 40).tolist() == list(range(40, 60))


def test_the_papers_form_is_another():
    inputs, paper = drawn(SMALL), FAMILY.semantics["nsa_paper"].reference(SMALL, None)
    assert verdict("nsa_fla", SMALL, inputs, run(nsa_fla_torch(SMALL), inputs)).passed
    assert not verdict("nsa_fla", SMALL, inputs, run(nsa_paper(SMALL), inputs)).passed
    assert not verdict("nsa_fla", SMALL, inputs, run(paper, inputs, wide=True)).passed


@pytest.mark.parametrize("change", [{"window": 21}, {"window": 19}, {"selected": 3}])
def test_another_window_or_count_fails(change):
    inputs = drawn(SMALL)
    assert not verdict("nsa_fla", SMALL, inputs, run(nsa_fla_torch(of(**change)), inputs)).passed


def test_zeros_for_missing_blocks_fail(monkeypatch):
    """fla's older packed path filled missing picks with 0: block 0 counted more than once."""
    import torch

    where = torch.Tensor.masked_fill

    def broken(self, mask, value):
        repeated = self.dtype == torch.int64 and value == -1
        return where(self, mask, 0 if repeated else value)

    w = of(gated=False, seq=60)
    inputs = drawn(w)
    expected = run(MEANING.reference(w, None), inputs, wide=True)
    monkeypatch.setattr(torch.Tensor, "masked_fill", broken)
    result = run(_nsa_paper.attention(w, fla=True), inputs)
    monkeypatch.undo()
    assert not MEANING.contract.judge(Evidence(w, inputs, result, expected)).passed


def test_without_its_packages_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fla", None)
    with pytest.raises(Unsupported, match=r"needs the package.*pip install flash-linear-attention"):
        nsa_fla(KERNEL)
    present(monkeypatch, lambda **_: None)
    monkeypatch.setitem(sys.modules, "flash_attn", None)
    with pytest.raises(Unsupported, match=r"needs the package flash-attn.*pip install flash-attn"):
        nsa_fla(KERNEL)


def present(monkeypatch, parallel_nsa):
    """Packages of these names, with the one function that is called."""
    for name in ("fla", "fla.ops", "fla.ops.nsa", "fla.ops.nsa.parallel", "flash_attn"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setattr(sys.modules["fla.ops.nsa.parallel"], "parallel_nsa", parallel_nsa, raising=False)


def test_its_kernels_want_cuda(monkeypatch):
    import torch

    present(monkeypatch, lambda **_: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(Unsupported, match="torch sees none"):
        nsa_fla(KERNEL)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(Unsupported, match="not on the cpu"):
        nsa_fla(KERNEL)(**tensors({name: drawn(KERNEL)[name] for name in "qkv"}))


@pytest.mark.parametrize("w", [KERNEL, of(KERNEL, gated=False), of(KERNEL, varlen=True, segments=2)])
def test_it_is_called_as_documented(w, monkeypatch):
    """On fake tensors of CUDA, with the package's signature: each argument has the shape it documents."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    def parallel_nsa(q, k, v, g_cmp, g_slc, g_swa, *, block_counts, block_size, window_size, cu_seqlens=None):
        assert [tuple(g.shape) for g in (g_cmp, g_slc, g_swa)] == 3 * [(1, 64, 32)]
        assert tuple(k.shape) == tuple(v.shape) == (1, 64, 2, 16)
        assert (block_counts, block_size, window_size) == (16, 16, 512)
        assert (cu_seqlens is not None) == w.varlen
        return q

    present(monkeypatch, parallel_nsa)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    kinds = {"bf16": torch.bfloat16, "i32": torch.int32}
    with FakeTensorMode(allow_non_fake_inputs=True):
        fake = {
            name: torch.empty(part.shape, dtype=kinds[part.dtype], device="cuda")
            for name, part in FAMILY.shapes(w).items()
        }
        assert nsa_fla(w)(**fake).shape == (1, 64, 32, 16)


def test_cost_counts_whole_blocks():
    pairs = sum((t + 1) // 16 + min(t + 1, 64) + min(t + 1, 20) for t in range(150))
    assert FAMILY.cost_of("nsa_fla", SMALL).flops == 4 * 4 * 8 * pairs
