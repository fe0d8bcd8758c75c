"""The attention family: each reference against its definition, and errors that its contract must detect."""

from functools import partial

import numpy as np
import pytest

from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.workload import STAGES
from tests.impls import attention_by_hand as hand
from tests.impls.attention_by_hand import by_hand, drawn, of, verdict
from tests.impls.attention_model import UPSTREAM as DIFFERENT
from tests.impls.attention_model import dense, sparse
from tests.impls.torch_case import gradients, run, run_marks
from tests.impls.variants import ATTENTION as V

pytestmark = pytest.mark.torch

BLOCKS = AttentionWorkload(
    seq=88, heads=2, kv_heads=1, head_dim=4, block=4, selected=2, window=9, tile=16, dtype="f64",
    compressed_block=3, compressed_selected=2,
)  # fmt: skip
UPSTREAM = AttentionWorkload(seq=384, heads=2, kv_heads=1, head_dim=4, selected=4, window=70, dtype="f64")
PAPER = AttentionWorkload(seq=200, heads=2, kv_heads=1, head_dim=8, block=16, selected=5, window=20)
INDEXED = AttentionWorkload(
    seq=150, heads=4, kv_heads=2, head_dim=8, gated=False, indexer_heads=8, indexer_dim=16, topk=20
)
GIVEN = {"stage": "given_blocks", "seq": 75, "heads": 4, "kv_heads": 2, "selected": 3, "gated": False}


def modelled(builder):
    return lambda w, inputs: run(builder(w), inputs)


FORMS = {  # the answer by definition, and the plain variants that follow it
    "dense": (modelled(dense()), ["dense"]),
    "nsa_mslk": (modelled(sparse()), ["nsa_mslk"]),
    "nsa_mslk_sparse_compressed": (modelled(sparse("groups")), ["nsa_mslk_sparse_compressed"]),
    "nsa_mslk_upstream": (modelled(sparse(*DIFFERENT)), ["nsa_mslk_upstream"]),
    "nsa_paper": (partial(by_hand, hand.paper), ["nsa_paper"]),
    "nsa_fla": (partial(by_hand, partial(hand.paper, fla=True)), ["nsa_fla_torch"]),
    "dsa": (partial(by_hand, hand.dsa), ["dsa_masked", "dsa_gather"]),
    "given_blocks": (partial(by_hand, hand.given_blocks), ["given_blocks_gather"]),
}
DEFINED = [  # semantics, workload, lengths of packed sequences
    ("dense", of(seq=5, heads=2, kv_heads=1, head_dim=3, gated=False), None),
    ("nsa_mslk", BLOCKS, None),
    ("nsa_mslk_sparse_compressed", BLOCKS, None),
    ("nsa_mslk", of(BLOCKS, seq=42, varlen=True), [1, 3, 38]),
    ("nsa_mslk_upstream", of(UPSTREAM, block=16), None),
    ("nsa_mslk_upstream", of(UPSTREAM, block=128), None),
    ("nsa_mslk_upstream", of(UPSTREAM, seq=512, block=256, selected=2), None),
    ("nsa_paper", PAPER, None),
    ("nsa_paper", of(PAPER, seq=7), None),
    ("nsa_paper", of(PAPER, kernel=8, stride=8), None),
    ("nsa_paper", of(PAPER, kernel=16, stride=2), None),
    ("nsa_paper", of(PAPER, kernel=4, init_blocks=0, local_blocks=1), None),
    ("nsa_paper", of(PAPER, stride=8, kernel=16, init_blocks=2, selected=6, local_blocks=3), None),
    ("nsa_fla", of(PAPER, selected=4, seq=150), None),
    ("nsa_fla", of(PAPER, selected=4, seq=128), None),
    ("nsa_fla", of(PAPER, selected=4, seq=15), None),
    ("dsa", INDEXED, None),
    ("dsa", of(INDEXED, topk=1), None),
    ("dsa", of(INDEXED, topk=150), None),  # which is dense attention
    ("dsa", of(INDEXED, kv_heads=1, indexer_heads=1, seq=60), None),
    ("given_blocks", of(PAPER, **GIVEN), None),
]


@pytest.mark.parametrize(("name", "w", "lengths"), DEFINED)
def test_reference_and_plain_variants_follow_their_definition(name, w, lengths):
    w, meaning, (form, variants) = of(w, dtype="f64"), FAMILY.semantics[name], FORMS[name]
    inputs = drawn(w, lengths=lengths)
    want = form(w, inputs)
    sure = slice(None)
    if name == "dsa":
        sure = ~run_marks(meaning.ambiguous(w, None), inputs)
    builders = [(meaning.reference(w, None), True), *((getattr(V, each)(w), False) for each in variants)]
    for function, wide in builders:
        np.testing.assert_allclose(run(function, inputs, wide)[sure], want[sure], rtol=1e-9, atol=1e-12)


FOUR_HEADS = of(PAPER, heads=4, kv_heads=2)
NOTICED = [
    *(
        ("nsa_paper", FOUR_HEADS, mistake)
        for mistake in (
            *("leak", "no forced blocks", "a finite sentinel", "block 0 for no pick"),
            *("a selection per head", "printed"),
        )
    ),
    ("nsa_fla", of(PAPER, selected=4, seq=60), "block 0 for no pick"),
    ("nsa_fla", of(PAPER, selected=4), "leak"),
    *(
        ("dsa", INDEXED, rule)
        for rule in ("no ReLU", "unsigned weights", "future", "one less", "previous query's")
    ),
]


@pytest.mark.parametrize(("name", "w", "mistake"), NOTICED)
def test_the_contract_detects(name, w, mistake):
    inputs, form = drawn(w), FORMS[name][0]
    assert verdict(name, w, inputs, form(w, inputs)).passed
    assert not verdict(name, w, inputs, form(w, inputs, mistake)).passed


OTHERS = [  # one form's answer differs from all others' answers, and from those of other sizes
    ("nsa_fla", V.nsa_paper(PAPER)),
    ("nsa_paper", V.nsa_fla_torch(PAPER)),
    *(("nsa_paper", V.nsa_paper(of(PAPER, window=window))) for window in (19, 21)),
    ("nsa_fla", V.nsa_fla_torch(of(PAPER, window=21))),
    ("nsa_fla", V.nsa_fla_torch(of(PAPER, selected=4))),
]


@pytest.mark.parametrize(("name", "other"), OTHERS)
def test_one_forms_answer_fails_anothers_contract(name, other):
    inputs = drawn(PAPER)
    assert not verdict(name, PAPER, inputs, run(other, inputs)).passed


REPEATED = of(seq=640, heads=2, kv_heads=1, block=128, selected=3)
DIFFERENCES = {  # of upstream: each by itself fails the formula's contract (T4, T5, T6)
    "duplicates": (REPEATED, (0, 1, 0)),
    "superset": (of(heads=2, kv_heads=1), (0, 1, 0)),
    "window": (of(heads=2, kv_heads=1), (0, 0, 1)),
}


@pytest.mark.parametrize(("w", "gates"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_each_difference_of_upstream_fails(w, gates):
    inputs = drawn(w, gates)
    names = ("nsa_mslk", "nsa_mslk_upstream")
    for name in names:
        result = run(getattr(V, name)(w), inputs)
        assert [verdict(other, w, inputs, result).passed for other in names] == [name == n for n in names]


MEANINGS = [name for name in FAMILY.semantics if name not in {"nsa_paper_decode", *STAGES}]
INDEX = {"gated": False, "indexer_heads": 8, "indexer_dim": 16, "topk": 20}
IN_PARTS = [
    *((name, of(seq=528, **(INDEX if name == "dsa" else {}))) for name in MEANINGS),
    *((name, of(seq=528, varlen=True)) for name in MEANINGS if name.startswith("nsa")),
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
