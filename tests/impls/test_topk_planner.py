"""XLA's plan for `approx_max_k`: the published table, jax's binding, and the facts of cases."""

from functools import partial

import numpy as np
import pytest

from harness import Unsupported
from harness.core.static_figures import ALL_FIGURES, Static
from impls.topk._approx_plan import EXACT_BY_FALLBACK, Plan, expected_recall_of, plan
from impls.topk._expected_recall import expected_recall
from impls.topk.family import TopkWorkload
from tests.impls.test_topk_checks import CHECKS, PLAIN, bucketed, exact, trial, verdict
from tests.impls.variants import TOPK as V

MISSING = dict.fromkeys(ALL_FIGURES, "not asked")
ON_CPU = Static(program="sha256:1", custom_calls=("TopK",), unavailable=MISSING)
ON_TPU = Static(program="sha256:2", custom_calls=("PartialReduce",), unavailable=MISSING)
NOT_PLANNED = "not planned: no group would hold two scores"
FEW = TopkWorkload(seq=8192, topk=64)

TABLE = [
    (1024, 64, 0.95, 1024, 0, 1.0),
    (4096, 64, 0.95, 2048, 1, 0.9923),
    (8192, 64, 0.95, 2048, 2, 0.9885),
    (131072, 2048, 0.95, 65536, 1, 0.9922),
    (131072, 2048, 0.90, 32768, 2, 0.9768),
    (1048576, 2048, 0.95, 65536, 4, 0.9855),
]


@pytest.mark.parametrize(("seq", "topk", "recall", "candidates", "reduction", "expected"), TABLE)
def test_the_plans_of_the_shapes_that_are_quoted(seq, topk, recall, candidates, reduction, expected):
    assert plan(seq, topk, recall) == Plan(candidates, reduction)
    assert expected_recall(seq, topk, candidates, 1) == pytest.approx(expected, abs=5e-5)


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


@pytest.mark.parametrize(
    ("variant", "w", "static", "options", "facts"),
    [
        (V.approx, FEW, ON_CPU, {}, (2, 2048, EXACT_BY_FALLBACK)),
        (V.approx_unaggregated, FEW, ON_TPU, {}, (2, 2048, "engaged")),
        (V.approx, FEW, Static.none("not asked"), {}, (2, 2048, None)),
        (
            V.approx,
            TopkWorkload(seq=65536),
            ON_TPU,
            {},
            (0, 65536, NOT_PLANNED),
        ),
        # Of an overridden shard the plan is that of the whole row.
        (V.approx_override, TopkWorkload(seq=131072), ON_TPU, {"shards": 8}, (1, 65536, "engaged")),
    ],
)
def test_a_case_says_whether_anything_was_approximated(variant, w, static, options, facts):
    names = ("planned_log2_reduction", "candidates", "approximation")
    assert variant.facts(w, static, options) == dict(zip(names, facts, strict=True))


@pytest.mark.parametrize(
    ("w", "static", "options", "recall"),
    [
        (FEW, ON_CPU, {}, None),
        (FEW, ON_CPU, {"shards": 8}, None),
        (FEW, ON_CPU, {"buckets": 2048, "keep": 1}, 0.9885),
        (FEW, ON_TPU, {}, 0.9885),
        (TopkWorkload(seq=131072), ON_TPU, {"shards": 8}, 0.9922),
        (TopkWorkload(seq=8200, topk=64), ON_TPU, {}, None),  # its last group is shorter
    ],
)
def test_what_a_plan_promises(w, static, options, recall):
    assert expected_recall_of(w, static, options) == (recall and pytest.approx(recall, abs=5e-5))


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
