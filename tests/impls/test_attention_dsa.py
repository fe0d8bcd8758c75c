"""DeepSeek sparse attention: its definition by hand, its two forms, and where rounding decides."""

import dataclasses

import numpy as np
import pytest

from impls.attention.dense.dense import dense
from impls.attention.dsa import dsa_gather as module
from impls.attention.dsa.dsa_gather import dsa_gather
from impls.attention.dsa.dsa_masked import dsa_masked
from impls.attention.family import FAMILY, AttentionWorkload
from tests.impls.attention_case import attend, doubles, drawn, rows_moved, verdict
from tests.impls.torch_case import gradients, operators, run, run_marks, tensor

pytestmark = pytest.mark.torch

VARIANTS = (dsa_masked, dsa_gather)
NAMES = [variant.name for variant in VARIANTS]
MEANING = FAMILY.semantics["dsa"]
SMALL = AttentionWorkload(
    seq=150, heads=4, kv_heads=2, head_dim=8, gated=False, indexer_heads=8, indexer_dim=16, topk=20
)


def of(**fields):
    return dataclasses.replace(SMALL, **fields)


def by_hand(w, inputs):
    """Query by query, with the score written as it is published."""
    q, k, v, index_q, index_k, index_w = doubles(inputs, "q", "k", "v", "index_q", "index_k", "index_w")
    result = np.zeros(q.shape)
    for t in range(w.seq):
        scale = w.indexer_heads**-0.5 * w.indexer_dim**-0.5
        score = [
            sum(index_w[t, h] * scale * max(index_q[t, h] @ index_k[s], 0) for h in range(w.indexer_heads))
            for s in range(t + 1)
        ]
        picked = sorted(sorted(range(t + 1), key=lambda s: -score[s])[: w.topk])
        for h in range(w.heads):
            key = h // (w.heads // w.kv_heads)
            result[t, h] = attend(q[t, h], k[picked, key], v[picked, key])
    return result[None]


@pytest.mark.parametrize("fields", [{}, {"topk": 1}, {"kv_heads": 1, "indexer_heads": 1, "seq": 60}])
def test_all_follow_the_definition(fields):
    w = of(dtype="f64", **fields)
    inputs = drawn(w)
    marks = run_marks(MEANING.ambiguous(w, None), inputs)
    want = by_hand(w, inputs)
    for function, wide in ((MEANING.reference(w, None), True), *((v(w), False) for v in VARIANTS)):
        np.testing.assert_allclose(run(function, inputs, wide)[~marks], want[~marks], rtol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_enough_picks_are_dense_attention(variant):
    """Up to topk tokens a query sees all: those rows are dense attention's, and all for topk ≥ seq."""
    w = of(dtype="f64")
    inputs = drawn(w)
    want = run(dense(w), inputs)
    rows = slice(0, w.topk)
    np.testing.assert_allclose(run(variant(w), inputs)[:, rows], want[:, rows], rtol=1e-10)
    assert not np.allclose(run(variant(w), inputs), want, rtol=1e-3)
    np.testing.assert_allclose(run(variant(of(dtype="f64", topk=4096)), inputs), want, rtol=1e-10)


@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_the_indexer_has_no_gradient(variant):
    inputs = drawn(SMALL)
    cotangent = np.random.default_rng(1).standard_normal(inputs["q"].shape)
    for function, wide in ((variant(SMALL), False), (MEANING.reference(SMALL, None), True)):
        _, found = gradients(function, inputs, cotangent, wide=wide)
        assert all(found[name].any() == (name in "qkv") for name in found)
        assert found.keys() == {"q", "k", "v", "index_q", "index_k", "index_w"}


@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_no_token_shows_before_itself(variant):
    for w, first in ((SMALL, range(100, 150)), (of(topk=150), range(100, 101))):
        assert rows_moved(variant(w), drawn(w), 100, ("k", "v", "index_k"))[0] in first


def broken(rule):
    """An indexer that is wrong in one way, before the same picks and the same attention."""

    def build(w):
        def attend(q, k, v, index_q, index_k, index_w):
            import torch

            likes = torch.einsum("bthd,bsd->bhts", index_q, index_k)
            likes = likes if rule == "no ReLU" else likes.relu()
            weights = index_w.abs() if rule == "unsigned weights" else index_w
            scores = torch.einsum("bth,bhts->bts", weights, likes)
            past = torch.ones(w.seq, w.seq, dtype=torch.bool).tril()
            if rule != "future":
                scores = scores.masked_fill(~past, -torch.inf)
            tokens = scores.topk(w.topk - (rule == "one less"), -1).indices
            if rule == "previous query's":
                tokens = tokens.roll(1, 1)
            visible = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, tokens, value=True) & past
            visible |= torch.eye(w.seq, dtype=torch.bool) & ~visible.any(-1, keepdim=True)
            group = w.heads // w.kv_heads
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            result = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, attn_mask=visible[:, None], enable_gqa=group > 1
            )
            return result.transpose(1, 2)

        return attend

    return build


@pytest.mark.parametrize(
    "rule", ["none", "no ReLU", "unsigned weights", "future", "one less", "previous query's"]
)
def test_a_wrong_indexer_fails(rule):
    inputs = drawn(SMALL)
    assert verdict("dsa", SMALL, inputs, run(broken(rule)(SMALL), inputs)).passed == (rule == "none")


def test_few_rows_are_ambiguous_and_equal_tokens_always():
    w = of(seq=4096, topk=1024, indexer_heads=4, indexer_dim=64)
    rows = np.arange(0, 4096, 16)
    inputs = drawn(w)
    assert run_marks(MEANING.ambiguous(w, rows), inputs).mean() < 0.1
    inputs["index_k"][:] = inputs["index_k"][:, :1]
    assert np.array_equal(run_marks(MEANING.ambiguous(w, rows), inputs)[0], rows >= w.topk)


def test_a_score_moves_by_less_than_its_ambiguity():
    """Scores in f32, summed in three orders, stay within two of the deviations of which six are allowed."""
    import torch

    from impls.attention._references.dsa import _deviations, _scores
    from impls.attention.dsa._indexer import index_scores

    w = of(indexer_dim=64)
    index = [tensor(drawn(w)[name]) for name in ("index_q", "index_k", "index_w")]
    wide = [x.double() for x in index]
    t = torch.arange(w.seq)
    exact = _scores(w, t, *wide)
    allowed = _deviations(w, t, *wide, t.expand(1, w.seq, w.seq))
    likes = torch.einsum("bthd,bsd->bths", index[0], index[1]).relu()
    one = torch.einsum("bth,bths->bts", index[2], likes) / (w.indexer_heads * w.indexer_dim) ** 0.5
    running = (index[0][:, :, :, None] * index[1][:, None, None]).cumsum(-1)[..., -1].relu()
    running = (index[2][..., None] * running).cumsum(2)[:, :, -1] / (w.indexer_heads * w.indexer_dim) ** 0.5
    finite = exact.isfinite()
    for scores in (index_scores(w, 0, *index), one, running):
        assert ((scores - exact).abs() / allowed)[finite].max() < 2


def test_steps_do_not_show_in_the_result(monkeypatch):
    w = of(dtype="f64")
    whole = run(dsa_gather(w), drawn(w))
    monkeypatch.setattr(module, "STEP_QUERIES", 7)
    np.testing.assert_allclose(run(dsa_gather(w), drawn(w)), whole, rtol=1e-12)


def test_gathering_holds_no_square():
    w = of(seq=2048, topk=64, indexer_heads=2)
    largest = {
        variant.name: max(np.prod(shape, dtype=np.int64) for _, shapes in seen for shape in shapes)
        for variant in VARIANTS
        for _, seen in [operators(variant, FAMILY, w)]
    }
    assert largest["dsa_masked"] >= w.seq**2
    assert largest["dsa_gather"] <= module.STEP_QUERIES * w.seq


def test_an_indexer_changes_no_other_input():
    without, beside = drawn(of(indexer_heads=0, gated=True)), drawn(of(gated=True))
    assert all(np.array_equal(values, beside[name]) for name, values in without.items())
    assert beside.keys() - without.keys() == {"index_q", "index_k", "index_w"}


def test_cost_counts_picks_and_scores():
    cost = FAMILY.cost_of("dsa", SMALL)
    picks = sum(min(t + 1, 20) for t in range(150))
    assert cost.flops == 4 * 4 * 8 * picks + 2 * 8 * (16 + 1) * sum(t + 1 for t in range(150))
    assert cost.bytes == sum(x.nbytes for x in FAMILY.shapes(SMALL).values()) + drawn(SMALL)["q"].nbytes
