"""The checks of the attention family: each fails for its own mistake, and for no right implementation."""

import dataclasses

import numpy as np
import pytest

from impls.attention import _selection
from impls.attention._checks.probe import relative_rms
from impls.attention.family import FAMILY, AttentionWorkload
from tests.impls.attention_by_hand import drawn
from tests.impls.attention_by_hand import verdict as judged_verdict
from tests.impls.attention_model import dense, sparse
from tests.impls.judgements import assert_failed, judged, trial
from tests.impls.torch_case import run
from tests.impls.variants import ATTENTION as V

pytestmark = pytest.mark.torch

CHECKS = {check.name: check for check in FAMILY.checks}
SMALL = AttentionWorkload(
    seq=200, heads=2, kv_heads=1, head_dim=16, block=8, selected=4, window=20, tile=32, dtype="f64"
)
PACKED = dataclasses.replace(SMALL, varlen=True, segments=4, tile=256, block=16)
MODELS = {"dense": dense, "sparse": sparse}
BROKEN = [
    ("causality", "dense", "next key", "rows before token"),
    ("causality", "sparse", "", "rows before token"),
    ("causality_by_block", "sparse", "block numbers", "before the block of token 100 change with its value"),
    ("causality_by_block", "sparse", "next key", "although no means are read; the first is 99"),
    ("causality_by_tile", "sparse", "one mean", "rows before token 196's tile change with it"),
    ("finite_sentinel", "sparse", "sentinel", "rows read later tokens"),
    ("finite_sentinel", "sparse", "selected sentinel", "at the end of a tile read nothing"),
    ("finite_sentinel", "sparse", "next key", "rows read later tokens"),
    ("finite_sentinel_dense", "dense", "sentinel", "rows read later tokens"),
    ("finite_sentinel_dense", "dense", "next key", "rows read later tokens"),
    ("no_nan_rows", "sparse", "nan", "rows are neither a mean of ones nor 0"),
    ("unique_selected", "sparse", "block 0", "times as much as another"),
    ("unique_selected_paper", "sparse", "block 0", "times as much as another"),
    ("no_superset", "sparse", "whole blocks", "unselected keys are read"),
    ("no_superset", "sparse", "one fewer", "selected keys are not read"),
    ("forced_blocks", "sparse", "", "not forced in"),
    ("window_width", "sparse", "wider", "row 1 reads 2 keys; window 1 means 1"),
    ("window_width", "sparse", "narrower", "reads 0 keys; window 1 means 1"),
    ("odd_blocks", "sparse", "rounded down", "2 heads of branches do not read the last block of 13"),
    ("gqa", "sparse", "interleaved", "from the answer with copies of its key head"),
    ("gqa", "dense", "interleaved", "from the answer with copies of its key head"),
    ("gqa_paper", "sparse", "interleaved", "from the answer with copies of its key head"),
    ("uniform_gates", "sparse", "no share", "from the answer without gates"),
    ("varlen_equals_per_sequence", "dense", "one row", "from its own answer"),
    ("varlen_equals_per_sequence", "sparse", "packed tiles", "from its own answer"),
    ("varlen_equals_per_sequence", "sparse", "rounded down", "reads nothing that its tile selected"),
    ("varlen_gradients_apart", "dense", "one row", "change by"),
    ("varlen_gradients_apart", "sparse", "neighbour", "change by"),
    ("branch_grad_nonzero", "sparse", "compressed lost", "of q through the compressed branch is 0"),
    ("branch_grad_nonzero", "sparse", "selected lost", "through the selected branch is"),
    ("branch_grad_nonzero", "sparse", "window lost", "through the window branch is"),
    ("gradient_reaches", "sparse", "own tile", "keys that are read have no gradient, 0 unread keys"),
    ("gradient_reaches", "sparse", "all keys", "selected: 0 keys that are read have no gradient"),
    ("gradient_reaches", "sparse", "compressed lost", "compressed: "),
    ("gradient_reaches_dense", "dense", "last key lost", "1 keys have no gradient of k; 1 keys"),
]


def workload(check):
    return PACKED if check.when(PACKED) and not check.when(SMALL) else SMALL


def verdict(name, builder, w=None):
    check = CHECKS[name]
    w = w or workload(check)
    assert check.when(w), name
    return check.judge(trial(FAMILY, w, builder, check.modes[0]))


@pytest.mark.parametrize(("name", "model", "mistake", "says"), BROKEN)
def test_a_mistake_is_caught(name, model, mistake, says):
    assert_failed(verdict(name, MODELS[model](*filter(None, [mistake]))), says)


# A softmax over nothing, and tokens of the future that lose to all others, need inputs of their own.
UNSEEN = {"", "sentinel", "selected sentinel", "nan"}
MODELLED = {(model, mistake): CHECKS[name].when(PACKED) for name, model, mistake, _ in BROKEN}


@pytest.mark.parametrize(("model", "mistake"), MODELLED)
def test_the_contract_detects_a_mistake_on_seeded_inputs_or_cannot(model, mistake):
    """Mistakes from the reviews of MSLK #296, fla, XunhaoLai's kernels and flash-attention, T1 to T13."""
    fields = {"heads": 4, "kv_heads": 2, "selected": 6, "tile": 32, "dtype": "f32"}
    fields |= {"varlen": True, "selected": 2, "seq": 400} if MODELLED[model, mistake] else {}
    w = dataclasses.replace(SMALL, gated=model == "sparse" and mistake != "no share", **fields)

    def built(w):
        return MODELS[model](*filter(None, [mistake]))(w)

    built.semantics = "dense" if model == "dense" else "nsa_mslk"
    passed = [judged(FAMILY, built, w, backward=backward).passed for backward in (False, True)]
    assert all(passed) == (mistake in UNSEEN)


@pytest.mark.parametrize("mistake", ["", "sentinel", "nan"])
def test_an_empty_row_that_is_not_zero_fails(mistake):
    """T3, T12: a softmax over nothing is NaN, a softmax over a finite sentinel is a mean of the future."""
    w = dataclasses.replace(SMALL, seq=256, selected=1, dtype="f32", tile=256)
    inputs = drawn(w, gates=(0, 1, 0))
    inputs["q"][:], inputs["k"][:, 160:168] = 1, 2
    passed = judged_verdict("nsa_mslk", w, inputs, run(sparse(*filter(None, [mistake]))(w), inputs)).passed
    assert passed == (not mistake)


def test_distance_of_nan_is_infinite():
    assert relative_rms(np.array([np.nan]), np.array([1.0])) == np.inf
    assert relative_rms(np.zeros(2), np.zeros(2)) == 0
    assert relative_rms(np.array([1.1]), np.array([1.0])) == pytest.approx(0.1)


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
    """The first tile sees four of six blocks: at 128 block 0 counts twice more, at 64 none does."""
    w = AttentionWorkload(seq=1024, heads=2, kv_heads=1, head_dim=64, block=block, window=99, gated=False)
    assert round(verdict("duplicates_report", V.nsa_mslk_upstream, w).figures["most"] / 1.15) == most
    figures = verdict("superset_report", V.nsa_mslk_upstream, w).figures
    assert (figures["extra_most"], figures["missing"]) == (extra, 0)
    assert verdict("window_report", V.nsa_mslk_upstream, w).figures == {"keys_at_1": 2, "keys_at_27": 28}


@pytest.mark.parametrize("name", ["window_width", "no_superset"])
def test_upstream_fails_the_formulas_checks(name):
    w = AttentionWorkload(seq=1024, heads=2, kv_heads=1, head_dim=64, block=32, window=99)
    assert not verdict(name, V.nsa_mslk_upstream, w).passed


def test_groups_of_means_that_count_twice_fail(monkeypatch):
    top = _selection._top
    assert verdict("unique_selected", V.nsa_mslk_sparse_compressed).passed
    monkeypatch.setattr(_selection, "_top", lambda scores, count: top(scores, count).clamp(min=0))
    judgement = verdict("unique_selected", V.nsa_mslk_sparse_compressed)
    assert judgement.figures["rows"] == 24 + 16, (
        "the first tile behind its first block, and behind its first group"
    )
