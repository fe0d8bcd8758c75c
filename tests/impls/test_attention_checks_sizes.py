"""What is a property of MSLK's attention, not a mistake, has its size; so have upstream's differences."""

import dataclasses

import pytest

from impls.attention import _selection
from impls.attention.family import AttentionWorkload
from impls.attention.mslk import _torch as _nsa_torch
from tests.impls.test_attention_checks import CHECKS, SMALL, verdict
from tests.impls.test_attention_checks_model import sparse
from tests.impls.variants import ATTENTION as V

pytestmark = pytest.mark.torch


def test_a_leak_of_means_has_its_published_size():
    """#296: with blocks of 64, token 200 changes rows 192 to 199."""
    w = AttentionWorkload(seq=384, heads=2, kv_heads=1, head_dim=16, selected=16, window=128)
    figures = verdict("causal_leak", V.nsa_mslk, w).figures
    assert figures["token"] == 200
    assert (figures["value_rows"], figures["value_rows_before"]) == (8, 8)
    assert 0.001 < figures["value_largest"] < 1
    assert figures["rows_before"] == 8, "all blocks are selected: nothing else can move"
    assert verdict("causal_leak", V.nsa_paper, w).figures["rows"] == 0
    assert not CHECKS["causal_leak"].decides


def test_a_leak_of_selection_has_its_size():
    w = dataclasses.replace(SMALL, seq=192)
    figures = verdict("selection_leak", sparse(), w).figures
    assert figures["token"] == 191
    assert 0 < figures["rows_before"] < w.tile
    assert figures["largest"] > 0
    assert verdict("selection_leak", V.nsa_paper, w).figures["rows"] == 0
    assert not CHECKS["selection_leak"].when(dataclasses.replace(w, selected=24)), "there is no choice"


@pytest.mark.parametrize(("block", "most", "extra"), [(64, 1, 192), (128, 3, 0)])
def test_upstreams_differences_have_sizes(block, most, extra):
    """The first tile sees four of six blocks: at 128 block 0 stands for two more, at 64 none counts twice."""
    w = AttentionWorkload(seq=1024, heads=2, kv_heads=1, head_dim=64, block=block, window=99, gated=False)
    assert round(verdict("duplicates_report", V.nsa_mslk_upstream, w).figures["most"] / 1.15) == most
    figures = verdict("superset_report", V.nsa_mslk_upstream, w).figures
    assert (figures["extra_most"], figures["missing"]) == (extra, 0)
    assert verdict("window_report", V.nsa_mslk_upstream, w).figures == {"keys_at_1": 2, "keys_at_27": 28}


@pytest.mark.parametrize("name", ["window_width", "no_superset"])
def test_upstream_would_fail_as_the_formula(name):
    w = AttentionWorkload(seq=1024, heads=2, kv_heads=1, head_dim=64, block=32, window=99)
    assert not verdict(name, V.nsa_mslk_upstream, w).passed


def test_groups_of_means_that_count_twice_are_seen(monkeypatch):
    top = _selection._top
    assert verdict("unique_selected", V.nsa_mslk_sparse_compressed).passed
    monkeypatch.setattr(_selection, "_top", lambda scores, count: top(scores, count).clamp(min=0))
    judgement = verdict("unique_selected", V.nsa_mslk_sparse_compressed)
    assert judgement.figures["rows"] == 24 + 16, (
        "the first tile behind its first block, and behind its first group"
    )


def test_a_last_group_that_nobody_reads_is_seen(monkeypatch):
    select = _nsa_torch.select_blocks

    def floored(w, *arguments, **others):
        picks, groups = select(w, *arguments, **others)
        whole = w.seq // w.block // w.compressed_block
        return picks, groups if groups is None else groups.masked_fill(groups >= whole, -1)

    assert verdict("odd_blocks", V.nsa_mslk_sparse_compressed).passed
    monkeypatch.setattr(_nsa_torch, "select_blocks", floored)
    judgement = verdict("odd_blocks", V.nsa_mslk_sparse_compressed)
    assert "the last block of 13 is not read by 2 heads" in judgement.reason
