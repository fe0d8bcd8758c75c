"""The attention family: every variant against its reference, and what each must not do."""

import dataclasses

import numpy as np
import pytest

from harness import Evidence, Unsupported
from impls.attention.dense import dense
from impls.attention.dsa_gather import dsa_gather
from impls.attention.dsa_masked import dsa_masked
from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.nsa_fla import nsa_fla
from impls.attention.nsa_fla_torch import nsa_fla_torch
from impls.attention.nsa_mslk import nsa_mslk
from impls.attention.nsa_mslk_sparse_compressed import nsa_mslk_sparse_compressed
from impls.attention.nsa_paper import nsa_paper
from impls.attention.workload import STAGES
from tests.impls.attention_case import attend, drawn, mslk_by_hand, slices
from tests.impls.torch_case import gradients, judged, run, run_marks

pytestmark = pytest.mark.torch

SPARSE = (nsa_mslk, nsa_mslk_sparse_compressed)
ALL = (dense, *SPARSE)
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


WORKLOADS = {
    "f32": of(),
    "f64": of(dtype="f64"),
    "bf16": of(dtype="bf16"),
    "f16": of(dtype="f16"),
    "ungated": of(gated=False),
    "batch": of(batch=2, seq=272),
    "heads-equal": of(kv_heads=4),
    "heads-of-4": of(kv_heads=1),
    "heads-of-16": of(seq=320, heads=16, kv_heads=1),
    "one-tile": of(seq=256),
    "below-a-tile": of(seq=48),
    "wide-window": of(window=4096),
    "window-of-one": of(window=1),
    "few-blocks": of(seq=64, block=64, selected=16),
}


@pytest.mark.parametrize("variant", ALL, ids=NAMES)
@pytest.mark.parametrize("w", WORKLOADS.values(), ids=WORKLOADS)
def test_variant_matches_the_reference(variant, w):
    judgement = judged(FAMILY, variant, w)
    assert judgement.passed, judgement.reason
    assert judgement.figures["largest_error_of_allowed"] < 0.6


@pytest.mark.parametrize("variant", ALL, ids=NAMES)
@pytest.mark.parametrize("name", ["f32", "f64", "bf16", "ungated", "heads-of-4", "batch"])
def test_gradients_match_the_reference(variant, name):
    judgement = judged(FAMILY, variant, WORKLOADS[name], backward=True)
    assert judgement.passed, judgement.reason
    assert judgement.figures["largest_error_of_allowed"] < 0.6


@pytest.mark.parametrize("w", [of(causal=False), of(varlen=True), of(varlen=True, causal=False)])
def test_dense_takes_what_the_sparse_forms_refuse(w):
    assert judged(FAMILY, dense, w).passed
    assert judged(FAMILY, dense, w, backward=True).passed


FLA, KERNEL = (nsa_fla, nsa_fla_torch), {"heads": 32, "kv_heads": 2, "dtype": "bf16"}
DSA, INDEXED = (dsa_masked, dsa_gather), {"gated": False, "indexer_heads": 8, "indexer_dim": 16, "topk": 20}
REFUSED = [
    (SPARSE, {"causal": False}, "causal"),
    (SPARSE, {"seq": 650}, "block 16"),
    ([nsa_paper], {"causal": False}, "causal"),
    ([nsa_paper], {"block": 18}, "block 18"),
    ([nsa_paper], {"selected": 2}, "selected 2"),
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


def test_only_seq_must_be_given_and_extra_fields_joined_later():
    fields = {field.name: field for field in dataclasses.fields(AttentionWorkload)}
    required = [name for name, field in fields.items() if field.default is dataclasses.MISSING]
    later = [name for name, field in fields.items() if field.metadata["later"]]
    assert required == ["seq"]
    assert later[:5] == ["tile", "compressed_block", "compressed_selected", "segments", "cuts"]
    assert later[5:9] == ["stage", "indexer_heads", "indexer_dim", "topk"]
    assert later[9:] == ["kernel", "stride", "init_blocks", "local_blocks"]


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
    want = mslk_by_hand(w, inputs, sparse_compressed=variant is nsa_mslk_sparse_compressed)
    reference = FAMILY.semantics[variant.semantics].reference(w, None)
    np.testing.assert_allclose(run(reference, inputs, wide=True), want, rtol=1e-10)
    np.testing.assert_allclose(run(variant(w), inputs), want, rtol=1e-10)


def test_packed_sequences_attend_themselves_only():
    lengths = [1, 15, 255, 257, 112]
    w = of(varlen=True, segments=5)
    inputs = drawn(w, lengths=lengths)
    packed = run(dense(w), inputs)
    reference = run(FAMILY.semantics["dense"].reference(w, None), inputs, wide=True)
    for length, part in zip(lengths, slices(lengths), strict=True):
        alone = run(dense(of(seq=length)), {name: inputs[name][:, part] for name in "qkv"})
        np.testing.assert_allclose(packed[:, part], alone, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(reference[:, part], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MEANINGS)
def test_contracts_notice_one_wrong_element(name):
    meaning = FAMILY.semantics[name]
    inputs = drawn(SMALL)
    expected = run(meaning.reference(SMALL, None), inputs, wide=True)
    wrong = expected.copy()
    wrong[0, 400, 1, 3] += 0.5 * np.sqrt(np.mean(wrong[0, 400, 1] ** 2))
    for contract in (meaning.contract, meaning.gradient):
        assert contract.judge(Evidence(SMALL, inputs, expected, expected)).passed
        judgement = contract.judge(Evidence(SMALL, inputs, wrong, expected))
        assert not judgement.passed
        assert judgement.figures["largest_error_of_allowed"] > 100
    marked = np.zeros((1, 640, 4), bool)
    marked[0, 400, 1] = True
    assert meaning.contract.judge(Evidence(SMALL, inputs, wrong, expected, None, marked)).passed
