"""Every exact selection, in every framework: right on any row of any type, and at the edges."""

from functools import partial

import numpy as np
import pytest

from harness.catalog.arrays import short_name
from impls.topk.family import DISTRIBUTIONS, FAMILY, TopkWorkload
from tests.impls.judgements import assert_passed
from tests.impls.test_topk_checks import CHECKS, trial
from tests.impls.topk_case import DTYPES, draw, edges, judged, on_jax, on_torch
from tests.impls.variants import TOPK as V

NUMPY = {variant.name: variant for variant in (V.partition, V.sampled_threshold, V.radix)}
JAX = {
    **{variant.name: variant for variant in (V.exact, V.sort_slice, V.bisection, V.chunked_merge, V.sharded)},
    "override": partial(V.approx_override, shards=4),
    "unaggregated": V.approx_unaggregated,
}
TIES_BY_INDEX = ("sort_slice", "bisection", "chunked_merge", "sharded")
TOP_K = ("chunked_merge", "sharded")


def of_torch(w, variant, **options):
    return lambda scores: on_torch(variant, w, scores, **options)


IN_TORCH = {"torch_topk": partial(of_torch, variant=V.torch_topk)}
MAXIMA = {f"maxima_tree{fanout}": partial(V.maxima_tree, fanout=fanout) for fanout in (2, 4, 8)}
IN_BLOCKS = {
    f"{variant.name}{block}": partial(of_torch, variant=variant, block=block)
    for variant in (V.block_maxima, V.block_maxima_host)
    for block in (1, 8, 16)
}


def parameters(size, at_edges, builders, marks=()):
    """For each: (builder, its seq and topk, those of rows at the edges)."""
    return [pytest.param(build, size, at_edges, id=name, marks=marks) for name, build in builders.items()]


ON_HOST = [
    *parameters((1003, 90), (64, (1, 8, 63)), NUMPY),
    *parameters((1003, 90), (64, (1, 8, 63)), IN_TORCH, pytest.mark.torch),
    *parameters((1024, 8), (256, (1, 2)), MAXIMA),
    *parameters((1024, 8), (256, (1, 2)), IN_BLOCKS, pytest.mark.torch),
]
GROUPED = [
    *(pytest.param(build, id=name) for name, build in MAXIMA.items()),
    *(pytest.param(build, id=name, marks=pytest.mark.torch) for name, build in IN_BLOCKS.items()),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("build", "size", "at_edges"), ON_HOST)
def test_exact_on_every_distribution(build, size, at_edges, dtype):
    seq, topk = size
    for distribution in DISTRIBUTIONS:
        w = TopkWorkload(batch=2, rows=5, seq=seq, topk=topk, dtype=dtype, distribution=distribution)
        scores = draw(w)
        result = build(w)(scores=scores)
        judgement = judged("exact", w, scores, result)
        assert judgement.passed, (distribution, judgement.reason)
        if getattr(build, "func", None) is not of_torch:
            assert short_name(result[0].dtype) == dtype


@pytest.mark.parametrize(("build", "size", "at_edges"), ON_HOST)
def test_exact_on_rows_of_one_kind(build, size, at_edges):
    seq, counts = at_edges
    scores = np.array([[row for kind in edges(seq) for row in (kind, kind[::-1])]], np.float32)
    for topk in counts:
        w = TopkWorkload(rows=scores.shape[1], seq=seq, topk=topk)
        judgement = judged("exact", w, scores, build(w)(scores=scores))
        assert judgement.passed, (topk, judgement.reason)


@pytest.mark.jax
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", JAX)
def test_exact_in_jax(name, dtype):
    """Every distribution in one call: rows are independent."""
    w = TopkWorkload(batch=len(DISTRIBUTIONS), rows=3, seq=512, topk=90, dtype=dtype)
    parts = [draw(TopkWorkload(rows=3, seq=512, topk=90, dtype=dtype, distribution=d)) for d in DISTRIBUTIONS]
    scores = np.concatenate(parts)
    values, indices = on_jax(JAX[name], w, scores)
    assert_passed(judged("exact", w, scores, (values, indices)))
    assert short_name(values.dtype) == dtype


@pytest.mark.jax
@pytest.mark.parametrize("topk", [pytest.param(1, marks=pytest.mark.full), 15])
@pytest.mark.parametrize("name", JAX)
def test_exact_in_jax_at_the_edges(name, topk):
    scores = np.array([edges(64)], np.float32)
    w = TopkWorkload(rows=scores.shape[1], seq=64, topk=topk)
    result = on_jax(JAX[name], w, scores)
    assert_passed(judged("exact", w, scores, result))
    if name in TIES_BY_INDEX:
        want = FAMILY.semantics["exact"].reference(w, None)(scores=scores.astype(np.float64))[1]
        first = 1 if name in TOP_K else 0  # lax.top_k orders −0 below +0
        assert np.array_equal(np.sort(result[1])[:, first:], np.sort(want)[:, first:])


@pytest.mark.parametrize("build", GROUPED)
def test_exact_where_the_largest_share_their_groups(build):
    """One row for each distance between the largest scores."""
    strides = (1, 2, 8, 32, 64, 128)
    w = TopkWorkload(rows=len(strides), seq=1024, topk=8)
    scores, at = draw(w), 3 + np.multiply.outer(strides, np.arange(8))
    scores[0, np.arange(len(strides))[:, None], at] += 20
    _, indices = build(w)(scores=scores)
    assert np.array_equal(np.sort(indices[0]), at)


@pytest.mark.parametrize("name", ["edge_rows", "order"])
@pytest.mark.parametrize("build", GROUPED)
def test_right_selections_pass_the_checks(build, name):
    assert_passed(CHECKS[name].judge(trial(TopkWorkload(rows=4, seq=1024, topk=8), build)))


def test_a_nan_does_not_hide_its_neighbours():
    """A NaN does not hide its group's other scores from the maximum: the largest in its group is found."""
    scores = np.full((1, 1, 256), -1, np.float32)
    scores[..., 17] = np.nan
    scores[..., 17 + 128] = 5  # of the same group
    values, indices = V.maxima_tree(TopkWorkload(rows=1, seq=256, topk=2), fanout=2)(scores=scores)
    assert 17 + 128 in indices
    assert 5 in values
