"""Native sparse attention as published: its definition by hand, and the traps around it."""

import dataclasses

import numpy as np
import pytest

from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.paper import _torch as module
from impls.attention.paper.nsa_paper import nsa_paper
from tests.impls.attention_case import attend, doubles, drawn, rows_moved, softmax, verdict
from tests.impls.torch_case import operators, run, run_marks

pytestmark = pytest.mark.torch

SMALL = AttentionWorkload(seq=200, heads=4, kv_heads=2, head_dim=8, block=16, selected=5, window=20)
REFERENCE = FAMILY.semantics["nsa_paper"].reference


def of(**fields):
    return dataclasses.replace(SMALL, **fields)


def by_hand(w, inputs, printed=False):
    """(result, picked blocks by query) for one key head, query by query, as XunhaoLai's indices have it."""
    q, k, v, gates = doubles(inputs, "q", "k", "v", "gates")
    k, v, length, stride = k[:, 0], v[:, 0], w.kernel or w.block // 2, w.stride or w.block // 4
    strides, overlap = w.block // stride, length // stride
    starts = range(0, w.seq - length + 1, stride)
    mean_k, mean_v = (np.array([x[i : i + length].mean(0) for i in starts]) for x in (k, v))
    result, picks = np.zeros(q.shape), []
    for t in range(w.seq):
        seen = [i for i, start in enumerate(starts) if start + length - 1 <= t]
        own, p = t // w.block, np.zeros((w.heads, len(starts)))
        for h in range(w.heads):
            if seen:
                p[h, seen] = softmax(mean_k[seen] @ q[t, h] / np.sqrt(w.head_dim))
            result[t, h] += gates[t, h, 0] * (p[h] @ mean_v)
        score = {}
        for j in range(own + 1):
            steps = [m + n for m in range(strides) for n in range(overlap)]
            at = [strides * j - n if printed else strides * j + n - overlap + 1 for n in steps]
            score[j] = sum(p[:, i].sum() for i in at if 0 <= i < len(starts))
        forced = {*range(min(w.init_blocks, own + 1)), *range(max(own - w.local_blocks + 1, 0), own + 1)}
        free = sorted(set(score) - forced, key=lambda j: -score[j])
        chosen = forced | set(free[: w.selected - len(forced)])
        picks.append(chosen)
        for h in range(w.heads):
            past = list(range(max(0, t - w.window + 1), t + 1))
            for gate, keys in ((1, [at for at in range(t + 1) if at // w.block in chosen]), (2, past)):
                result[t, h] += gates[t, h, gate] * attend(q[t, h], k[keys], v[keys])
    return result[None], picks


@pytest.mark.parametrize("seq", [200, 7])
def test_both_follow_the_definition(seq):
    w = of(seq=seq, heads=2, kv_heads=1, dtype="f64")
    inputs = drawn(w)
    want, picks = by_hand(w, inputs)
    assert {len(chosen) for chosen in picks} == ({1, 2, 3, 4, 5} if seq > 16 else {1})
    np.testing.assert_allclose(run(REFERENCE(w, None), inputs), want, rtol=1e-10)
    np.testing.assert_allclose(run(nsa_paper(w), inputs), want, rtol=1e-10)


FIELDS = [
    {"kernel": 8, "stride": 8},
    {"kernel": 16, "stride": 2},
    {"kernel": 4, "init_blocks": 0, "local_blocks": 1},
    {"stride": 8, "kernel": 16, "init_blocks": 2, "selected": 6, "local_blocks": 3},
]


@pytest.mark.parametrize("fields", FIELDS, ids=str)
def test_sizes_and_forced_blocks_are_free(fields):
    w = of(heads=2, kv_heads=1, dtype="f64", **fields)
    inputs = drawn(w)
    want, _ = by_hand(w, inputs)
    np.testing.assert_allclose(run(REFERENCE(w, None), inputs), want, rtol=1e-10)
    np.testing.assert_allclose(run(nsa_paper(w), inputs), want, rtol=1e-10)
    assert np.abs(want - by_hand(of(heads=2, kv_heads=1, dtype="f64"), inputs)[0]).max() > 1e-3


def test_the_paper_has_its_sizes():
    """Block 64: 32 tokens every 16, so the first result changes 7 tokens after token 200."""
    w = AttentionWorkload(seq=256, heads=1, kv_heads=1, head_dim=8)
    moved = rows_moved(nsa_paper(w), drawn(w, gates=(1, 0, 0)), 200)
    assert moved[0] == 207  # of blocks [176, 208) and [192, 224) the first is complete


def test_marks_are_few_and_find_ties():
    w = AttentionWorkload(seq=1024, heads=4, kv_heads=2, head_dim=16, block=16, selected=8)
    inputs, marks = drawn(w), FAMILY.semantics["nsa_paper"].ambiguous
    assert run_marks(marks(w, None), inputs).mean() < 0.01
    inputs["k"][:] = inputs["k"][:, :1]
    found = run_marks(marks(w, None), inputs)
    assert found.shape == (1, 1024, 4)
    assert found[:, 9 * 16 :].all()
    assert not found[:, : 8 * 16].any()


@pytest.mark.parametrize("span", [1, 13])
def test_steps_do_not_show_in_the_result(span, monkeypatch):
    w = of(seq=48, dtype="f64")
    whole = run(nsa_paper(w), drawn(w))
    monkeypatch.setattr(module, "STEP_QUERIES", span)
    np.testing.assert_allclose(run(nsa_paper(w), drawn(w)), whole, rtol=1e-10)


def test_nothing_stores_the_square():
    w = AttentionWorkload(seq=4096, heads=1, kv_heads=1, head_dim=16, block=16, selected=4, window=64)
    _, seen = operators(nsa_paper, FAMILY, w)
    assert max(np.prod(shape, dtype=np.int64) for _, shapes in seen for shape in shapes) < w.seq**2 / 32


def broken(w, inputs, trap):
    """The result by hand with one of the published mistakes in it: the contract must see each."""
    import torch

    from impls.attention._references import paper
    from impls.attention._references.upstream import _attend_often

    kept = {name: getattr(paper, name) for name in ("_rank", "ends", "attend")}
    try:
        if trap == "leak":  # a block is read from its start on
            paper.ends = lambda k, sizes: kept["ends"](k, sizes) - sizes[0] + 1
        elif trap == "no forced blocks":

            def ranked(masses, w, t):
                block = torch.arange(masses.shape[-1])
                return masses.masked_fill(block > (t // w.block)[:, None], -torch.inf)

            paper._rank = ranked
        elif trap == "a finite sentinel":

            def averaged(q, k, v, visible):
                scores = paper.products(q, k).masked_fill(~visible, -1e4)
                weights = torch.softmax(scores, -1).unflatten(1, (k.shape[2], -1))
                return torch.einsum("bkgrn,bnkd->brkgd", weights, v).flatten(2, 3)

            paper.attend = averaged
        elif trap == "block 0 for no pick":

            def doubled(q, k, v, visible):
                times = visible.to(q.dtype).expand(q.shape[0], w.heads, -1, -1).clone()
                if visible.ndim == 4:  # the selected branch
                    missing = w.selected - torch.ceil(visible.sum(-1) / w.block)
                    times[..., : w.block] *= 1 + missing.clamp(min=0)[..., None]
                return _attend_often(q, k, v, times)

            paper.attend = doubled
        elif trap == "a selection per head":
            repeated = {n: x.repeat(2, 2) if n in "kv" else x for n, x in inputs.items()}
            return run(nsa_paper(of(kv_heads=w.heads)), repeated)
        else:  # one key more in the window
            w = dataclasses.replace(w, window=w.window + 1)
        return run(paper.paper(w, None), inputs, wide=True)
    finally:
        for name, function in kept.items():
            setattr(paper, name, function)


TRAPS = "leak, no forced blocks, a finite sentinel, block 0 for no pick, a selection per head, window and one"


@pytest.mark.parametrize("trap", TRAPS.split(", "))
def test_the_contract_notices(trap):
    inputs = drawn(SMALL)
    assert not verdict("nsa_paper", SMALL, inputs, broken(SMALL, inputs, trap)).passed


def test_the_contract_notices_scores_as_they_are_printed():
    """The paper's sum subtracts: a block would be scored by the tokens before it."""
    w = of(heads=2, kv_heads=1)
    inputs = drawn(w)
    assert verdict("nsa_paper", w, inputs, by_hand(w, inputs)[0]).passed
    assert not verdict("nsa_paper", w, inputs, by_hand(w, inputs, printed=True)[0]).passed
