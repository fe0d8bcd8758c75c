"""Marks where rounding may decide a selection of attention: few rows, all ties, and bounds from theory."""

import numpy as np
import pytest

from impls.attention.family import FAMILY, AttentionWorkload
from tests.impls.attention_by_hand import SMALL, drawn, of
from tests.impls.torch_case import run_marks, tensor

pytestmark = pytest.mark.torch

LONG = AttentionWorkload(seq=8192, head_dim=64, compressed_block=8, gated=False)
PAPER = AttentionWorkload(seq=1024, heads=4, kv_heads=2, head_dim=16, block=16, selected=8)
INDEXED = AttentionWorkload(
    seq=4096, heads=4, kv_heads=2, head_dim=8, gated=False, indexer_heads=4, indexer_dim=64, topk=1024
)
ROWS = np.arange(0, 4096, 16)


def marks(name, w, inputs, rows=None):
    return run_marks(FAMILY.semantics[name].ambiguous(w, rows), inputs)


@pytest.mark.parametrize(
    ("name", "w", "rows", "most"),
    [
        ("nsa_mslk", LONG, None, 0.01),
        ("nsa_mslk_sparse_compressed", LONG, None, 0.01),
        ("nsa_paper", PAPER, None, 0.01),
        ("dsa", INDEXED, ROWS, 0.1),
    ],
)
def test_few_selections_are_ambiguous(name, w, rows, most):
    assert marks(name, w, drawn(w), rows).mean() < most


@pytest.mark.parametrize("name", ["nsa_mslk", "nsa_mslk_sparse_compressed"])
def test_equal_blocks_at_the_cutoff_are_ambiguous(name):
    inputs = drawn(SMALL)
    inputs["k"][:] = inputs["k"][:, :16].repeat(40, 0).reshape(1, 640, 2, 16)
    assert marks(name, SMALL, inputs).all()
    assert not marks(name, of(selected=40, compressed_selected=5), inputs).any()


def test_equal_tokens_are_ambiguous_as_soon_as_one_is_left_out():
    inputs = drawn(PAPER)
    inputs["k"][:] = inputs["k"][:, :1]
    found = marks("nsa_paper", PAPER, inputs)
    assert found[:, 9 * 16 :].all()
    assert not found[:, : 8 * 16].any()
    inputs = drawn(INDEXED)
    inputs["index_k"][:] = inputs["index_k"][:, :1]
    assert np.array_equal(marks("dsa", INDEXED, inputs, ROWS)[0], INDEXED.topk <= ROWS)


def test_a_score_moves_by_less_than_its_ambiguity():
    """Errors of scores in f32, summed in three orders, stay within one deviation; six are allowed."""
    import torch

    from impls.attention._references.ambiguous import _deviation, mean_keys
    from impls.attention._references.attention import block_scores

    w = of(heads=2, kv_heads=2)
    q, k = (tensor(drawn(w)[name]) for name in "qk")
    tiles = torch.arange(2)
    exact = block_scores(w, q.double(), k.double())(tiles)
    allowed = _deviation(w, q.double(), *mean_keys(w, k.double()), tiles)
    parts = [q[:, :256], q[:, 256:512]]
    mean_k = k.unflatten(1, (-1, 16)).mean(2).transpose(1, 2)
    pooled = torch.stack([part.mean(1) for part in parts], 2) @ mean_k.transpose(-1, -2) / 4
    running = torch.stack([part.flip(1).cumsum(1)[:, -1] / 256 for part in parts], 2)
    running = (running[:, :, :, None] * mean_k[:, :, None]).cumsum(-1)[..., -1] / 4
    full = torch.stack([torch.einsum("bthd,bhjd->bhtj", part, mean_k).mean(2) / 4 for part in parts], 2)
    finite = exact.isfinite()
    for scores in (pooled, running, full):
        assert ((scores - exact).abs() / allowed)[finite].max() < 2


def test_a_score_of_an_indexer_moves_by_less_than_its_ambiguity():
    import torch

    from impls.attention._references.dsa import _deviations, _scores
    from impls.attention.dsa._indexer import index_scores

    w = of(INDEXED, seq=150, indexer_heads=8, topk=20)
    index = [tensor(drawn(w)[name]) for name in ("index_q", "index_k", "index_w")]
    t, wide = torch.arange(w.seq), [x.double() for x in index]
    exact = _scores(w, t, *wide)
    allowed = _deviations(w, t, *wide, t.expand(1, w.seq, w.seq))
    scale = (w.indexer_heads * w.indexer_dim) ** -0.5
    likes = torch.einsum("bthd,bsd->bths", index[0], index[1]).relu()
    one = torch.einsum("bth,bths->bts", index[2], likes) * scale
    running = (index[0][:, :, :, None] * index[1][:, None, None]).cumsum(-1)[..., -1].relu()
    running = (index[2][..., None] * running).cumsum(2)[:, :, -1] * scale
    finite = exact.isfinite()
    for scores in (index_scores(w, 0, *index), one, running):
        assert ((scores - exact).abs() / allowed)[finite].max() < 2


@pytest.mark.parametrize(("apart", "ambiguous"), [(1e-3, True), (1e-2, False)])
def test_groups_are_as_ambiguous_as_the_rounding_of_their_sums(monkeypatch, apart, ambiguous):
    """Eight scores of 1000 without their own error: six deviations of both means are 0.0027."""
    import torch

    from impls.attention._references import ambiguous as _ambiguous

    scores = torch.full((1, 1, 1, 16), 1000.0, dtype=torch.float64)
    scores[..., 8:] -= apart
    monkeypatch.setattr(_ambiguous, "means_scores", lambda *_: lambda _: scores)
    monkeypatch.setattr(_ambiguous, "_deviation", lambda *_: torch.zeros_like(scores))
    w = of(seq=256, selected=16, compressed_block=8, compressed_selected=1)
    near = _ambiguous.near_ties(w, None, None, None, None, sparse_compressed=True)
    assert near.tolist() == [[[ambiguous]]]
