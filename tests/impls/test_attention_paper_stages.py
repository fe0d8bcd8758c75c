"""The paper's form by parts: given blocks, and the decode of one token, both against the whole."""

import dataclasses

import numpy as np
import pytest

from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.paper._block_mask import block_lists, read_blocks, visible
from tests.impls.attention_by_hand import drawn
from tests.impls.judgements import judged
from tests.impls.torch_case import run
from tests.impls.variants import ATTENTION as V

pytestmark = pytest.mark.torch

GIVEN = AttentionWorkload(
    stage="given_blocks", seq=75, heads=4, kv_heads=2, head_dim=8, block=16, selected=3, gated=False
)
DECODE = dataclasses.replace(GIVEN, stage="decode", seq=200, selected=5, window=20, gated=True)


@pytest.mark.parametrize(("seq", "block"), [(300, 16), (384, 64), (256, 128), (1000, 256), (500, 512)])
def test_lists_of_blocks_are_what_flex_attention_makes_of_the_mask(seq, block):
    """But that a block whose rows behind the last alone are hidden is whole here, and masked in torch's."""
    import torch
    from torch.nn.attention.flex_attention import create_block_mask

    w = dataclasses.replace(GIVEN, seq=seq, block=block, selected=4, batch=2)
    read = read_blocks(w, torch.from_numpy(drawn(w)["picks"]))
    made = create_block_mask(
        lambda batch, head, query, key: visible(w, batch, head, query, key, read),
        2, w.heads, seq, seq, device="cpu",
    )  # fmt: skip
    mine = block_lists(w, read)
    partly, whole = _listed(mine.partly, mine.index), _listed(mine.full, mine.every)
    torchs = _listed(made.kv_num_blocks, made.kv_indices)
    torchs_whole = _listed(made.full_kv_num_blocks, made.full_kv_indices)
    assert torch.equal(partly | whole, torchs | torchs_whole)
    uncut = seq // 128
    assert torch.equal(whole[:, :, :uncut], torchs_whole[:, :, :uncut])
    assert not (partly & whole).any()


def _listed(counts, indices):
    """The first of each list, as booleans [b, heads, blocks, blocks]."""
    import torch

    first = torch.arange(indices.shape[-1]) < counts[..., None]
    return torch.zeros_like(first).scatter(-1, indices.long(), first)


def test_given_blocks_are_distinct_and_no_later_than_their_query():
    picks = drawn(dataclasses.replace(GIVEN, seq=160, selected=6))["picks"]
    own = np.arange(160) // 16
    assert (picks.max(-1) <= own).all()
    assert ((picks >= 0).sum(-1) == np.minimum(own + 1, 6)).all()
    ordered = np.sort(picks, -1)
    assert ((np.diff(ordered, axis=-1) > 0) | (ordered[..., 1:] < 0)).all()


def test_a_decode_is_the_last_row_of_the_whole():
    w = dataclasses.replace(DECODE, dtype="f64")
    inputs = drawn(w)
    whole = dataclasses.replace(w, stage="attention")
    others = drawn(whole, seed=1)
    full = {name: np.concatenate([others[name][:, :-1], inputs[name]], 1) for name in ("q", "gates")}
    full |= {name: inputs[name] for name in "kv"}
    for variant, last in ((V.nsa_paper, V.nsa_paper_decode), (V.dense, V.dense_decode)):
        want = run(variant(whole), full)[:, -1:]
        np.testing.assert_allclose(run(last(w), inputs), want, rtol=1e-9)


def test_a_decode_without_its_selection_fails_the_contract():
    def unselective(w):
        return V.nsa_paper_decode(dataclasses.replace(w, selected=3))

    unselective.semantics = "nsa_paper_decode"
    assert judged(FAMILY, V.nsa_paper_decode, DECODE).passed
    assert not judged(FAMILY, unselective, DECODE).passed
