"""The kernel's lists of blocks: known answers, every way to make them, and what fails."""

import dataclasses

import numpy as np
import pytest

from impls.attention.family import FAMILY, AttentionWorkload
from tests.impls import jax_case
from tests.impls.attention_by_hand import drawn, verdict
from tests.impls.variants import ATTENTION as V

pytestmark = [pytest.mark.torch, pytest.mark.jax]

VARIANTS = (V.lists_dense, V.lists_scatter_sort, V.lists_dedup, V.lists_compact, V.lists_jax)
NAMES = [variant.name for variant in VARIANTS]
MEANING = FAMILY.semantics["block_lists"]
SMALL = AttentionWorkload(stage="block_lists", seq=2048, batch=2, heads=3, kv_heads=1, block=64, selected=5)

WORKLOADS = {
    "merged": SMALL,
    "kernel's own": dataclasses.replace(SMALL, block=128),
    "expanded": dataclasses.replace(SMALL, block=256, selected=3),
    "part of a kernel block": dataclasses.replace(SMALL, seq=2000, block=16, selected=9),
    "all picked": dataclasses.replace(SMALL, seq=512, selected=16),
    "one": dataclasses.replace(SMALL, selected=1, batch=1, heads=1),
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
@pytest.mark.parametrize("variant", [None, *VARIANTS], ids=["reference", *NAMES])
def test_known_lists(variant, block, picked, want):
    w = dataclasses.replace(SMALL, seq=1024, tile=1024, batch=1, heads=1, block=block, selected=len(picked))
    picks = np.array(picked, np.int32)[None, None, None]
    made = MEANING.reference(w, None)(picks) if variant is None else call(variant, w, picks)
    assert made["counts"].tolist() == [[[len(want)]]]
    assert made["blocks"][0, 0, 0, : len(want)].tolist() == want
    assert {part.dtype for part in made.values()} == {np.dtype(np.int32)}


def test_a_compact_list_is_as_wide_as_the_longest():
    picks = np.zeros((1, 1, 2, 5), np.int32)
    picks[..., 1, 4] = 9
    w = dataclasses.replace(SMALL, batch=1, heads=1, seq=512)
    assert call(V.lists_compact, w, picks)["blocks"].tolist() == [[[[0, -1], [0, 4]]]]
    assert call(V.lists_compact, w, picks, trim=False)["blocks"].shape[-1] == 4
    assert verdict("block_lists", w, {"picks": picks}, call(V.lists_compact, w, picks, trim=False)).passed


def turned(blocks, counts):
    """Each list from its largest to its least."""
    made = blocks.copy()
    for index in np.ndindex(counts.shape):
        made[index][: counts[index]] = blocks[index][: counts[index]][::-1]
    return {"blocks": made, "counts": counts}


WRONG = {
    # T4: block 0 as often as no other was found
    "repeated": lambda blocks, counts: {
        "blocks": np.concatenate([0 * blocks[..., :1], blocks[..., :-1]], -1),
        "counts": counts + 1,
    },
    "descending": turned,
    "one short": lambda blocks, counts: {"blocks": blocks, "counts": counts - 1},
    "one beside": lambda blocks, counts: {
        "blocks": blocks + (np.arange(blocks.shape[-1]) == 0).astype(np.int32),
        "counts": counts,
    },
    "int64": lambda blocks, counts: {"blocks": blocks.astype(np.int64), "counts": counts},
    "no counts": lambda blocks, counts: {"blocks": blocks},
    "bare": lambda blocks, counts: blocks,
}


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG)
def test_wrong_lists_fail(spoil):
    picks = drawn(SMALL)["picks"]
    made = {name: np.array(part) for name, part in call(V.lists_dedup, SMALL, picks).items()}
    judgement = verdict("block_lists", SMALL, {"picks": picks}, spoil(**made))
    assert not judgement.passed
    assert judgement.reason


def test_what_stands_behind_a_count_is_not_judged():
    picks = drawn(SMALL)["picks"]
    made = MEANING.reference(SMALL, None)(picks)
    made["blocks"] = np.where(made["blocks"] < 0, 77, made["blocks"])
    assert verdict("block_lists", SMALL, {"picks": picks}, made).passed


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
    w = dataclasses.replace(SMALL, seq=512, tile=512, block=32, selected=4, heads=64, batch=64)
    often = np.bincount(drawn(w)["picks"].ravel(), minlength=16) / 4096
    assert np.abs(often - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 4096)


def test_a_part_of_the_heads_can_be_judged():
    picks, rows = drawn(SMALL)["picks"], np.array([0, 2])
    whole, part = MEANING.reference(SMALL, None)(picks), MEANING.reference(SMALL, rows)(picks)
    assert FAMILY.rows(SMALL) == SMALL.heads
    assert all(np.array_equal(whole[name][:, rows], part[name]) for name in whole)
