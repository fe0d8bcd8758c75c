"""Selections that begin with the maxima of groups: exact on any row, and refused where they cannot be."""

from functools import partial

import numpy as np
import pytest

from harness import Unsupported
from impls.topk.block_maxima import block_maxima
from impls.topk.block_maxima_host import block_maxima_host
from impls.topk.family import DISTRIBUTIONS, TopkWorkload
from impls.topk.maxima_tree import maxima_tree
from tests.impls.test_topk_checks import CHECKS, trial
from tests.impls.topk_case import DTYPES, draw, edges, judged, on_torch


def on_host(w, variant, block):
    return lambda scores: on_torch(variant, w, scores, block=block)


TORCH = [(variant, block) for variant in (block_maxima, block_maxima_host) for block in (1, 8, 16)]
VARIANTS = [
    *(
        pytest.param(
            partial(on_host, variant=variant, block=block),
            marks=pytest.mark.torch,
            id=f"{variant.name}{block}",
        )
        for variant, block in TORCH
    ),
    *(pytest.param(partial(maxima_tree, fanout=fanout), id=f"maxima_tree{fanout}") for fanout in (2, 4, 8)),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("builder", VARIANTS)
def test_exact_on_every_distribution(builder, distribution, dtype):
    w = TopkWorkload(batch=2, rows=5, seq=1024, topk=8, dtype=dtype, distribution=distribution)
    scores = draw(w)
    judgement = judged("exact", w, scores, builder(w)(scores=scores))
    assert judgement.passed, judgement.reason


@pytest.mark.parametrize("row", edges(256))
@pytest.mark.parametrize("topk", [1, 2])
@pytest.mark.parametrize("builder", VARIANTS)
def test_exact_on_rows_of_one_kind(builder, topk, row):
    w = TopkWorkload(rows=2, seq=256, topk=topk)
    scores = np.array([[row, row[::-1]]], np.float32)
    judgement = judged("exact", w, scores, builder(w)(scores=scores))
    assert judgement.passed, judgement.reason


@pytest.mark.parametrize("stride", [1, 2, 8, 32, 64, 128])
@pytest.mark.parametrize("builder", VARIANTS)
def test_exact_where_the_largest_share_their_groups(builder, stride):
    w = TopkWorkload(rows=1, seq=1024, topk=8)
    scores = np.random.default_rng(0).standard_normal((1, 1, 1024), dtype=np.float32)
    at = 3 + stride * np.arange(8)
    scores[..., at] += 20
    _, indices = builder(w)(scores=scores)
    assert set(indices[0, 0].tolist()) == set(at.tolist())


@pytest.mark.parametrize("name", ["edge_rows", "order"])
@pytest.mark.parametrize("builder", VARIANTS)
def test_checks_hold(builder, name):
    judgement = CHECKS[name].judge(trial(TopkWorkload(rows=4, seq=1024, topk=8), builder))
    assert judgement.passed, judgement.reason


def test_edges_leave_no_nan_behind():
    """A NaN hides its group's other scores from no maximum: the largest beside it is found."""
    scores = np.full((1, 1, 256), -1, np.float32)
    scores[..., 17] = np.nan
    scores[..., 17 + 128] = 5  # of the same group
    values, indices = maxima_tree(TopkWorkload(rows=1, seq=256, topk=2), fanout=2)(scores=scores)
    assert 17 + 128 in indices
    assert 5 in values


@pytest.mark.parametrize(
    ("variant", "seq", "topk", "options", "refused"),
    [
        (block_maxima, 4096, 64, {"block": 48}, "does not divide into blocks of 48"),
        (block_maxima, 4096, 64, {"block": 0}, "blocks of 0"),
        (block_maxima, 4096, 64, {"block": 64}, "no more than topk 64"),
        (maxima_tree, 4096, 64, {"fanout": 16}, "no 16th of seq 4096"),
        (maxima_tree, 4097, 4, {}, "no 8th of seq 4097"),
        (maxima_tree, 4096, 64, {"fanout": 1}, "groups of 1"),
    ],
)
def test_refusals_name_the_remedy(variant, seq, topk, options, refused):
    pytest.importorskip("torch")
    with pytest.raises(Unsupported, match=refused):
        variant(TopkWorkload(seq=seq, topk=topk), **options)
