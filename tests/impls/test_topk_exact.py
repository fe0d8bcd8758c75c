"""Every exact selection at the edges of a type, and what each guesses, sorts by and refuses to hide.

Distributions, dtypes and checks of all of them are in points.yaml.
"""

import math
from itertools import product

import numpy as np
import pytest

from impls.topk.exact import _sample_threshold
from impls.topk.family import TopkWorkload
from tests.impls.judgements import answer, assert_passed
from tests.impls.topk_case import draw, judged
from tests.impls.variants import TOPK as V
from tests.impls.variants import labelled

GROUPED = [
    *(f"maxima_tree[fanout={fanout}]" for fanout in (2, 4, 8)),
    *(f"block_maxima{where}[block={block}]" for where in ("", "_host") for block in (1, 8, 16)),
]
TIES_BY_INDEX = ["sort_slice", "bisection", "chunked_merge", "sharded"]
EXACT = ["partition", "sampled_threshold", "radix", "torch_topk", "exact", *TIES_BY_INDEX, *GROUPED]
pytestmark = [pytest.mark.jax, pytest.mark.torch]


def selected(label, w, scores):
    variant, options = labelled("topk", label)
    return answer(variant.framework, variant(w, **options), {"scores": scores})


def edges(seq):
    """Rows of one kind: zeros of both signs, infinities, ties, in order, at the ends of f32."""
    kinds = (
        [0.0, -0.0] * (seq // 2),
        [-math.inf] * seq,
        [math.inf] * 3 + [-math.inf] * (seq - 4) + [1.0],
        [1.0] * seq,
        list(range(seq)),
        [1.2e-38, -1.2e-38, 3.4e38, -3.4e38] * (seq // 4),
    )
    return np.array([[row for kind in kinds for row in (kind, kind[::-1])]], np.float32)


@pytest.mark.parametrize("label", EXACT)
def test_exact_on_rows_of_one_kind(label):
    scores = edges(256)
    w = TopkWorkload(rows=scores.shape[1], seq=256, topk=8 if "[fanout=8]" not in label else 2)
    values, indices = selected(label, w, scores)
    assert_passed(judged("exact", w, scores, (values, indices)))
    if label in TIES_BY_INDEX:  # lax.top_k alone has −0 below +0
        want = np.argsort(-scores, axis=-1, kind="stable")[..., : w.topk]
        assert np.array_equal(np.sort(indices)[:, 2:], np.sort(want)[:, 2:])


@pytest.mark.parametrize("label", GROUPED)
def test_exact_where_the_largest_share_their_groups(label):
    """A row for each distance that stands between the largest."""
    strides = (1, 2, 8, 32, 64, 128)
    w = TopkWorkload(rows=len(strides), seq=1024, topk=8)
    scores, at = draw(w), 3 + np.multiply.outer(strides, np.arange(8))
    scores[0, np.arange(len(strides))[:, None], at] += 20
    assert np.array_equal(np.sort(selected(label, w, scores)[1][0]), at)


def test_a_nan_hides_no_other_score_of_its_group():
    scores = np.full((1, 1, 256), -1, np.float32)
    scores[..., 17] = np.nan
    scores[..., 17 + 128] = 5
    assert 17 + 128 in selected("maxima_tree[fanout=2]", TopkWorkload(rows=1, seq=256, topk=2), scores)[1]


def test_doubles_are_told_apart_that_are_one_float():
    w = TopkWorkload(rows=1, seq=64, topk=8, dtype="f64")
    scores = 1 + 1e-12 * np.random.default_rng(0).permutation(64).reshape(1, 1, 64)
    assert len(np.unique(scores.astype(np.float32))) == 1
    largest = set(np.argsort(-scores[0, 0])[:8].tolist())
    for name in ("exact", "partition", "torch_topk"):
        variant = getattr(V, name)
        _, indices = answer(variant.framework, variant(w), {"scores": scores}, x64=True)
        assert set(indices[0, 0].tolist()) == largest


@pytest.mark.parametrize("guessed", [-math.inf, 0.5, math.inf])
def test_a_wrong_guess_costs_time_alone(monkeypatch, guessed):
    """Above every score, below every score, and right for some rows only."""
    monkeypatch.setattr(
        "impls.topk.exact.sampled_threshold.guess",
        lambda *_: lambda keys: np.full((len(keys), 1), guessed, keys.dtype),
    )
    w = TopkWorkload(rows=6, seq=256, topk=64)
    scores = draw(w) + np.linspace(-1, 1, 6, dtype=np.float32)[:, None]
    assert_passed(judged("exact", w, scores, V.sampled_threshold(w)(scores=scores)))


@pytest.mark.parametrize("topk", [1, 2, 16, 64, 100, 512, 2048])
def test_the_guess_is_too_high_in_less_than_two_rows_of_a_thousand(topk):
    """So many of the sample among the largest that its rank-th lies above the last of them."""
    from scipy.stats import hypergeom

    for seq, sample in product((4096, 65536, 1 << 20), (64, 512, 1024, 4096)):
        assert hypergeom.sf(_sample_threshold.rank(seq, topk, sample) - 1, seq, topk - 1, sample) < 2e-3


def test_the_guess_keeps_less_than_twice_the_selection():
    keys = np.random.default_rng(1).standard_normal((1000, 2048), dtype=np.float32)
    held = (keys >= _sample_threshold.guess(2048, 256, 512)(keys)).sum(axis=1)
    assert (held < 256).sum() < 3
    assert 256 < held.mean() < 2 * 256


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_sortable_keys_order_as_the_scores(dtype):
    from impls.topk.exact._sort_keys import sortable

    scores = np.array([-np.inf, -2, -1, -6.2e-5, -0.0, 0, 6.2e-5, 1, 1.5, 65504, np.inf], dtype)
    steps = np.diff(np.asarray(sortable(scores)).astype(np.int64))
    assert steps[4] == 0
    assert (np.delete(steps, 4) > 0).all()
