"""Single stages of attention: known answers, lists of blocks, given blocks, the decode of a token."""

import dataclasses

import numpy as np
import pytest

from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.paper._block_mask import block_lists, read_blocks, visible
from tests.impls import jax_case
from tests.impls.attention_by_hand import drawn, verdict
from tests.impls.judgements import judged
from tests.impls.torch_case import products, run, tensors
from tests.impls.variants import ATTENTION as V

pytestmark = [pytest.mark.torch, pytest.mark.jax]

SMALL = AttentionWorkload(seq=1024, heads=4, kv_heads=2, head_dim=16, selected=3)


def test_the_q_mean_identity_saves_a_factor_of_the_tile():
    """mean(Q·K) = mean(Q)·K: the same picks by 256 times fewer products (MSLK #296)."""
    w = dataclasses.replace(SMALL, stage="select", seq=4096, tile=256)
    inputs, given = drawn(w), tensors(drawn(w))
    few, all_of_them = V.select_mean_query(w), V.select_every_query(w)
    np.testing.assert_array_equal(run(few, inputs), run(all_of_them, inputs))
    assert products(all_of_them, given) == 256 * products(few, given)


def test_known_picks():
    """A tile of two queries, blocks of one: the mean query decides, and only blocks before the tile's end."""
    w = AttentionWorkload(
        stage="select", seq=4, heads=1, kv_heads=1, head_dim=1, block=1, tile=2, selected=2, dtype="f64"
    )
    inputs = {"q": np.array([1.0, 3, -1, -1]), "means": np.array([5.0, 2, 9, -7])}
    inputs = {name: values.reshape(1, 4, 1, 1) for name, values in inputs.items()}
    for variant in (V.select_mean_query, V.select_every_query, V.select_jax):
        assert jax_case.call(variant, w, inputs).tolist() == [[[[0, 1], [1, 3]]]]
    assert "elements differ" in verdict(w.stage, w, inputs, np.array([[[[0, 1], [2, 3]]]])).reason


@pytest.mark.parametrize("variant", [V.lists_transposed_dense, V.lists_transposed_compact])
def test_known_lists_transposed(variant):
    w = AttentionWorkload(
        stage="transposed_lists", seq=512, heads=1, kv_heads=1, block=128, tile=128, selected=3
    )
    blocks = np.array([[0, 9, 9], [0, 1, 9], [2, 9, 9], [0, 2, 3]], np.int32)[None, None]
    inputs = {"blocks": blocks, "counts": np.array([1, 2, 1, 3], np.int32)[None, None]}
    made = jax_case.call(variant, w, inputs)
    assert made["counts"].tolist() == [[[3, 1, 2, 1]]]
    readers = [made["tiles"][0, 0, i, :n].tolist() for i, n in enumerate([3, 1, 2, 1])]
    assert readers == [[0, 1, 3], [1], [2, 3], [3]]
    assert verdict(w.stage, w, inputs, made).passed
    made["tiles"][0, 0, 0, :2] = 1, 0
    assert not verdict(w.stage, w, inputs, made).passed


def test_a_stage_takes_the_lists_of_the_stage_before():
    lists = dataclasses.replace(SMALL, stage="block_lists")
    turned = dataclasses.replace(SMALL, stage="transposed_lists")
    made = jax_case.call(V.lists_dedup, lists, drawn(lists))
    given = drawn(turned)
    assert np.array_equal(made["counts"], given["counts"])
    read = np.arange(made["blocks"].shape[-1]) < made["counts"][..., None]
    assert np.array_equal(np.where(read, made["blocks"], -1), given["blocks"])


LISTED = (V.lists_dense, V.lists_scatter_sort, V.lists_dedup, V.lists_compact, V.lists_jax)
LISTED_NAMES = [variant.name for variant in LISTED]
OF_LISTS = FAMILY.semantics["block_lists"]
LISTS = AttentionWorkload(stage="block_lists", seq=2048, batch=2, heads=3, kv_heads=1, block=64, selected=5)

WORKLOADS = {
    "merged": LISTS,
    "part of a kernel block": dataclasses.replace(LISTS, seq=2000, block=16, selected=9),
    "all picked": dataclasses.replace(LISTS, seq=512, selected=16),
    "one": dataclasses.replace(LISTS, selected=1, batch=1, heads=1),
}


def call(variant, w, picks, **options):
    return jax_case.call(variant, w, {"picks": picks}, **options)


@pytest.mark.parametrize(
    ("block", "picked", "want"),
    [
        (256, [0, 3], [0, 1, 6, 7]),
        (128, [0, 0, 0, 2], [0, 2]),
        (64, [0, 1, 2, 5], [0, 1, 2]),
        (64, [0, 0, 0, 7], [0, 3]),
        (16, [7, 8, 9, 31], [0, 1, 3]),
        (512, [1], [4, 5, 6, 7]),
        (256, [0, 0, 3], [0, 1, 6, 7]),
    ],
)
@pytest.mark.parametrize("variant", [None, *LISTED], ids=["reference", *LISTED_NAMES])
def test_known_lists(variant, block, picked, want):
    w = dataclasses.replace(LISTS, seq=1024, tile=1024, batch=1, heads=1, block=block, selected=len(picked))
    picks = np.array(picked, np.int32)[None, None, None]
    made = OF_LISTS.reference(w, None)(picks) if variant is None else call(variant, w, picks)
    assert made["counts"].tolist() == [[[len(want)]]]
    assert made["blocks"][0, 0, 0, : len(want)].tolist() == want
    assert {part.dtype for part in made.values()} == {np.dtype(np.int32)}


def test_a_compact_list_is_as_wide_as_the_longest():
    picks = np.zeros((1, 1, 2, 5), np.int32)
    picks[..., 1, 4] = 9
    w = dataclasses.replace(LISTS, batch=1, heads=1, seq=512)
    assert call(V.lists_compact, w, picks)["blocks"].tolist() == [[[[0, -1], [0, 4]]]]
    assert call(V.lists_compact, w, picks, trim=False)["blocks"].shape[-1] == 4
    assert verdict("block_lists", w, {"picks": picks}, call(V.lists_compact, w, picks, trim=False)).passed


def turned(blocks, counts):
    """Each list sorted from its largest to its least."""
    made = blocks.copy()
    for index in np.ndindex(counts.shape):
        made[index][: counts[index]] = blocks[index][: counts[index]][::-1]
    return {"blocks": made, "counts": counts}


WRONG = {
    # T4: block 0 once for each missing pick
    "repeated": lambda blocks, counts: {
        "blocks": np.concatenate([0 * blocks[..., :1], blocks[..., :-1]], -1),
        "counts": counts + 1,
    },
    "descending": turned,
    "one short": lambda blocks, counts: {"blocks": blocks, "counts": counts - 1},
    "int64": lambda blocks, counts: {"blocks": blocks.astype(np.int64), "counts": counts},
}


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG)
def test_wrong_lists_fail(spoil):
    picks = drawn(LISTS)["picks"]
    made = {name: np.array(part) for name, part in call(V.lists_dedup, LISTS, picks).items()}
    judgement = verdict("block_lists", LISTS, {"picks": picks}, spoil(**made))
    assert not judgement.passed
    assert judgement.reason


def test_entries_after_a_count_are_not_judged():
    picks = drawn(LISTS)["picks"]
    made = OF_LISTS.reference(LISTS, None)(picks)
    made["blocks"] = np.where(made["blocks"] < 0, 77, made["blocks"])
    assert verdict("block_lists", LISTS, {"picks": picks}, made).passed


@pytest.mark.parametrize("w", WORKLOADS.values(), ids=WORKLOADS)
def test_drawn_picks_are_selections(w):
    picks = drawn(w)["picks"]
    assert picks.dtype == np.int32
    for index in np.ndindex(picks.shape[:3]):
        seen = -(-min((index[2] + 1) * w.tile, w.seq) // w.block)
        row = picks[index].tolist()
        assert row == sorted(row)
        assert 0 <= row[0] <= row[-1] < seen
        assert len(set(row)) == min(seen, w.selected)
        assert (
            len(row) - len(set(row)) == row.count(0) - 1 if seen < w.selected else len(set(row)) == len(row)
        )


def test_every_block_is_drawn_equally_often():
    w = dataclasses.replace(LISTS, seq=512, tile=512, block=32, selected=4, heads=64, batch=64)
    often = np.bincount(drawn(w)["picks"].ravel(), minlength=16) / 4096
    assert np.abs(often - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 4096)


def test_a_part_of_the_heads_can_be_judged():
    picks, rows = drawn(LISTS)["picks"], np.array([0, 2])
    whole, part = OF_LISTS.reference(LISTS, None)(picks), OF_LISTS.reference(LISTS, rows)(picks)
    assert FAMILY.rows(LISTS) == LISTS.heads
    assert all(np.array_equal(whole[name][:, rows], part[name]) for name in whole)


GIVEN = AttentionWorkload(
    stage="given_blocks", seq=75, heads=4, kv_heads=2, head_dim=8, block=16, selected=3, gated=False
)
DECODE = dataclasses.replace(GIVEN, stage="decode", seq=200, selected=5, window=20, gated=True)


@pytest.mark.parametrize(("seq", "block"), [(300, 16), (384, 64), (256, 128), (1000, 256), (500, 512)])
def test_lists_of_blocks_are_what_flex_attention_makes_of_the_mask(seq, block):
    """One difference: a block whose hidden rows are all after the last is whole here, and masked in torch."""
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
