"""XLA's plan for `approx_max_k`: the published table, jax's binding, and the facts of cases."""

from functools import partial

import numpy as np
import pytest

from harness import Unsupported
from harness.core.static_figures import ALL_FIGURES, Static
from impls.topk._approx_plan import EXACT_BY_FALLBACK, Plan, expected_recall_of, plan
from impls.topk._expected_recall import expected_recall
from impls.topk.approximate.approx import approx
from impls.topk.approximate.approx_override import approx_override
from impls.topk.approximate.approx_unaggregated import approx_unaggregated
from impls.topk.family import TopkWorkload
from tests.impls.test_topk_checks import CHECKS, PLAIN, bucketed, exact, trial, verdict

MISSING = dict.fromkeys(ALL_FIGURES, "not asked")
ON_CPU = Static(program="sha256:1", custom_calls=("TopK",), unavailable=MISSING)
ON_TPU = Static(program="sha256:2", custom_calls=("PartialReduce",), unavailable=MISSING)

TABLE = [
    (1024, 64, 0.95, 1024, 0, 1.0),
    (2048, 64, 0.95, 2048, 0, 1.0),
    (4096, 64, 0.95, 2048, 1, 0.9923),
    (8192, 64, 0.95, 2048, 2, 0.9885),
    (65536, 512, 0.95, 16384, 2, 0.9884),
    (65536, 2048, 0.95, 65536, 0, 1.0),
    (131072, 2048, 0.95, 65536, 1, 0.9922),
    (131072, 2048, 0.90, 32768, 2, 0.9768),
    (131072, 2048, 0.99, 131072, 0, 1.0),
    (1048576, 2048, 0.95, 65536, 4, 0.9855),
]


@pytest.mark.parametrize(("seq", "topk", "recall", "candidates", "reduction", "expected"), TABLE)
def test_the_plans_of_the_shapes_that_are_quoted(seq, topk, recall, candidates, reduction, expected):
    assert plan(seq, topk, recall) == Plan(candidates, reduction)
    assert expected_recall(seq, topk, candidates, 1) == pytest.approx(expected, abs=5e-5)


def test_edges_of_a_plan():
    assert plan(128, 64, 0.5) == Plan(128, 0), "no more than a tile"
    assert plan(1024, 64, 0.5, rank=1) == Plan(1024, 0)
    assert plan(4096, 1, 0.95) == Plan(128, 5)
    assert plan(65536, 64, 1.0) == Plan(65536, 0)
    assert plan(16384, 2048, 0.95) == Plan(16384, 0), "a shard on its own"
    assert plan(16384, 2048, 0.95, logical=131072) == Plan(8192, 1), "as one of eight"


@pytest.mark.jax
def test_plans_are_those_of_the_binding():
    bound = getattr(pytest.importorskip("jax._src.lib")._jax, "approx_top_k_reduction_output_size", None)
    if bound is None:
        pytest.skip("this jaxlib offers its planner no more")
    random = np.random.default_rng(0)
    for _ in range(3000):
        sizes = [2 ** random.integers(5, 21), random.integers(2, 3000), random.integers(2, 1 << 21)]
        seq = int(random.choice(sizes))
        topk = int(random.choice([1, min(64, seq), min(2048, seq), random.integers(1, seq + 1)]))
        recall = float(random.choice([0.5, 0.9, 0.95, 0.99, 1.0, random.uniform(0.01, 1)]))
        rank, shards = int(random.integers(1, 4)), int(random.choice([1, 8, random.integers(1, 64)]))
        got = plan(seq, topk, recall, logical=seq * shards, rank=rank)
        want = bound(seq, rank, topk, recall, False, seq * shards)
        assert (got.candidates, got.log2) == tuple(want), (seq, topk, recall, rank, shards)


def test_a_case_says_whether_anything_was_approximated():
    few = TopkWorkload(seq=8192, topk=64)
    facts = {"planned_log2_reduction": 2, "candidates": 2048}
    for variant, options in ((approx, {}), (approx_unaggregated, {})):
        assert variant.facts(few, ON_CPU, options) == {**facts, "approximation": EXACT_BY_FALLBACK}
        assert variant.facts(few, ON_TPU, options) == {**facts, "approximation": "engaged"}
        assert variant.facts(few, Static.none("not asked"), options)["approximation"] is None
    many = approx.facts(TopkWorkload(seq=65536), ON_TPU, {})
    assert many["approximation"].startswith("not planned")
    assert (many["planned_log2_reduction"], many["candidates"]) == (0, 65536)


def test_an_overridden_shard_reports_the_plan_of_the_whole_row():
    facts = approx_override.facts(TopkWorkload(seq=131072), ON_TPU, {"shards": 8})
    assert facts == {"planned_log2_reduction": 1, "candidates": 65536, "approximation": "engaged"}


def test_what_a_plan_promises():
    w = TopkWorkload(seq=8192, topk=64)
    assert expected_recall_of(w, ON_CPU, {}) is None
    assert expected_recall_of(w, ON_CPU, {"shards": 8}) is None
    assert expected_recall_of(w, ON_CPU, {"buckets": 2048, "keep": 1}) == pytest.approx(0.9885, abs=5e-5)
    assert expected_recall_of(w, ON_TPU, {}) == pytest.approx(0.9885, abs=5e-5)
    assert expected_recall_of(TopkWorkload(seq=131072), ON_TPU, {"shards": 8}) == pytest.approx(
        0.9922, abs=5e-5
    )
    assert expected_recall_of(TopkWorkload(seq=8200, topk=64), ON_TPU, {}) is None, (
        "its last group is shorter"
    )


@pytest.mark.parametrize(
    ("w", "builder", "static", "options", "said"),
    [
        (PLAIN, exact, ON_CPU, {}, EXACT_BY_FALLBACK),
        (TopkWorkload(rows=4, seq=2048, topk=64), exact, ON_CPU, {}, "not planned: no group"),
        (PLAIN, exact, ON_TPU, {}, "engaged"),
        (PLAIN, exact, Static.none("numpy"), {}, "nothing lost"),
        (PLAIN, bucketed, ON_CPU, {"buckets": 2048, "keep": 1}, "engaged"),
        (PLAIN, bucketed, ON_CPU, {"buckets": 2048, "keep": 2}, "not planned: no bucket"),
        (PLAIN, bucketed, ON_CPU, {"buckets": 1024, "keep": 3}, "planned; nothing lost"),
    ],
)
def test_whether_an_approximation_was_engaged(w, builder, static, options, said):
    judged = verdict("approximation_engaged", w, partial(builder, **options), static=static, **options)
    assert judged.passed
    assert judged.figures["approximation"].startswith(said)
    assert (judged.figures["lost"] > 0) == (options.get("keep") == 1)


def test_only_a_plan_of_buckets_can_be_checked():
    with pytest.raises(Unsupported, match="no plan of buckets"):
        CHECKS["arm_executed"].judge(trial(PLAIN, exact))
