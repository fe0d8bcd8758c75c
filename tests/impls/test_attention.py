"""The attention family: every variant against its reference, and what each must not do."""

import dataclasses

import numpy as np
import pytest

from harness import Unsupported
from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.workload import STAGES
from tests.impls.attention_case import attend, drawn, mslk_by_hand
from tests.impls.torch_case import gradients, run, run_marks
from tests.impls.variants import ATTENTION as V

pytestmark = pytest.mark.torch

SPARSE = (V.nsa_mslk, V.nsa_mslk_sparse_compressed)
ALL = (V.dense, *SPARSE)
NAMES = [variant.name for variant in ALL]
MEANINGS = [
    name for name in FAMILY.semantics if name not in {"dsa", "nsa_paper_decode", *STAGES}
]  # of attention as a whole, on its own inputs

SMALL = AttentionWorkload(
    seq=640, heads=4, kv_heads=2, head_dim=16, block=16, selected=4, window=70,
    compressed_block=8, compressed_selected=2,
)  # fmt: skip


def of(**fields):
    return dataclasses.replace(SMALL, **fields)


FLA, KERNEL = (V.nsa_fla, V.nsa_fla_torch), {"heads": 32, "kv_heads": 2, "dtype": "bf16"}
DSA, INDEXED = (
    (V.dsa_masked, V.dsa_gather),
    {"gated": False, "indexer_heads": 8, "indexer_dim": 16, "topk": 20},
)
REFUSED = [
    (SPARSE, {"causal": False}, "causal"),
    (SPARSE, {"seq": 650}, "block 16"),
    ([V.nsa_paper], {"causal": False}, "causal"),
    ([V.nsa_paper], {"block": 18}, "block 18"),
    ([V.nsa_paper], {"selected": 2}, "selected 2"),
    (FLA, KERNEL | {"causal": False}, "causal=false"),
    (FLA, KERNEL | {"selected": 2}, "selected 2"),
    (FLA, KERNEL | {"stage": "block_lists"}, "stage="),
    (DSA, INDEXED | {"indexer_heads": 0}, "indexer_heads=0"),
    (DSA, INDEXED | {"causal": False}, "causal"),
    (DSA, INDEXED | {"varlen": True}, "varlen"),
]


@pytest.mark.parametrize(("variants", "fields", "word"), REFUSED)
def test_what_a_meaning_does_not_define_is_refused_by_field(variants, fields, word):
    w, meaning = of(**fields), FAMILY.semantics[variants[0].semantics]
    for build in (*variants, lambda w: meaning.reference(w, None), lambda w: meaning.ambiguous(w, None)):
        with pytest.raises(Unsupported, match=word):
            build(w)


def test_gates_are_shares_and_sequences_follow_each_other():
    for w in (of(), of(varlen=True), of(varlen=True, seq=4)):
        inputs = drawn(w)
        assert 0 <= inputs["gates"].min() <= inputs["gates"].max() <= 1
        if w.varlen:
            assert (inputs["cu_seqlens"][0], inputs["cu_seqlens"][-1]) == (0, w.seq)
            assert (np.diff(inputs["cu_seqlens"]) > 0).all()


IN_PARTS = [
    *((name, of(seq=528)) for name in MEANINGS),
    *((name, of(seq=528, varlen=True)) for name in MEANINGS if name.startswith("nsa")),
    ("dsa", of(seq=528, **INDEXED)),
]


@pytest.mark.parametrize(("name", "w"), IN_PARTS, ids=[f"{n}-{'packed' * w.varlen}" for n, w in IN_PARTS])
def test_reference_and_marks_on_rows_equal_their_whole(name, w):
    inputs = drawn(w, lengths=[1, 15, 255, 257] if w.varlen else None)
    rows = np.array([0, 1, 7, 8, 15, 16, 19, 20, 255, 256, 257, 270, 271, 272, 300, 511, 527])
    meaning = FAMILY.semantics[name]
    whole, part = (run(meaning.reference(w, chosen), inputs, wide=True) for chosen in (None, rows))
    assert part.shape == (1, len(rows), w.heads, w.head_dim)
    np.testing.assert_allclose(part, whole[:, rows], rtol=1e-12, atol=1e-14)
    if name != "dense":
        marks = run_marks(meaning.ambiguous(w, None), inputs)
        assert marks.shape[:2] == (1, w.seq)
        assert marks.mean() < 0.2
        assert np.array_equal(run_marks(meaning.ambiguous(w, rows), inputs), marks[:, rows])


def test_reference_differentiates_the_rows_alone():
    w = of(seq=272, dtype="f64")
    rows = np.array([0, 100, 271])
    cotangent = np.random.default_rng(1).standard_normal((1, w.seq, w.heads, w.head_dim))
    spread = np.zeros_like(cotangent)
    spread[:, rows] = cotangent[:, rows]
    reference = FAMILY.semantics["nsa_mslk"].reference
    _, whole = gradients(reference(w, None), drawn(w), spread, wide=True)
    _, part = gradients(reference(w, rows), drawn(w), cotangent[:, rows], wide=True)
    for name in ("q", "k", "v", "gates"):
        np.testing.assert_allclose(part[name], whole[name], atol=1e-12)


def test_reference_of_dense_is_the_formula():
    w = of(seq=5, heads=2, kv_heads=1, head_dim=3, dtype="f64")
    inputs = drawn(w)
    q, k, v = (inputs[name] for name in "qkv")
    want = np.zeros((1, 5, 2, 3))
    for t in range(5):
        for h in range(2):
            want[0, t, h] = attend(q[0, t, h], k[0, : t + 1, 0], v[0, : t + 1, 0])
    np.testing.assert_allclose(run(FAMILY.semantics["dense"].reference(w, None), inputs), want, rtol=1e-12)


@pytest.mark.parametrize("variant", SPARSE, ids=NAMES[1:])
def test_sparse_forms_follow_their_definition(variant):
    w = of(seq=88, heads=2, kv_heads=1, head_dim=4, block=4, selected=2, window=9, tile=16, dtype="f64",
           compressed_block=3, compressed_selected=2)  # fmt: skip
    inputs = drawn(w)
    want = mslk_by_hand(w, inputs, sparse_compressed=variant is V.nsa_mslk_sparse_compressed)
    reference = FAMILY.semantics[variant.semantics].reference(w, None)
    np.testing.assert_allclose(run(reference, inputs, wide=True), want, rtol=1e-10)
    np.testing.assert_allclose(run(variant(w), inputs), want, rtol=1e-10)
