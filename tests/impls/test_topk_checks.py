"""The checks of the topk family: each detects its own mistake."""

import functools
from functools import partial

import numpy as np
import pytest

from harness import Unsupported
from harness.xla import figures as xla_figures
from impls.topk.exact.partition import partition
from impls.topk.family import FAMILY, TopkWorkload
from impls.topk.reference import largest
from tests.impls.jax_case import jit, planned
from tests.impls.judgements import assert_failed, assert_passed
from tests.impls.topk_case import values_at
from tests.impls.trials import NOTHING, trial_of
from tests.impls.variants import TOPK as V

CHECKS = {check.name: check for check in FAMILY.checks}
PLAIN = TopkWorkload(rows=16, seq=4096, topk=64)


def trial(w, builder, *, static=NOTHING, **options):
    """The trial of a builder with these options."""

    def answer(function, inputs):
        return tuple(np.asarray(part) for part in function(**inputs))

    return trial_of(FAMILY, w, builder, answer, static=static, options=options)


def verdict(name, w, builder, **more):
    return CHECKS[name].judge(trial(w, builder, **more))


def exact(w):
    return largest(w, None)


def ranked(w, ranks):
    """The scores of these ranks, `topk` of them, instead of the first."""

    def select(scores):
        order = np.argsort(-scores.astype(np.float64), axis=-1, kind="stable")
        return values_at(scores, order[..., ranks(w)])

    return select


def without_best(w, count):
    """In every row the `count` best are skipped, and the next ones selected."""
    return ranked(w, lambda w: np.arange(count, w.topk + count))


def without_last(w, count):
    return ranked(w, lambda w: np.r_[: w.topk - count, w.topk : w.topk + count])


def bucketed(w, buckets, keep, *, neighbours=False):
    """The best `keep` of every bucket, of columns a stride apart or adjacent; then the best of all."""

    def select(scores):
        columns = np.arange(w.seq).reshape(-1, buckets).T
        if neighbours:
            columns = np.arange(w.seq).reshape(buckets, -1)
        grid = scores[..., columns].astype(np.float64)
        inner = np.argsort(-grid, axis=-1, kind="stable")[..., :keep]
        held = np.take_along_axis(np.broadcast_to(columns, grid.shape), inner, axis=-1)
        held = held.reshape(*scores.shape[:2], -1)
        best = np.argsort(
            -np.take_along_axis(scores, held, axis=-1).astype(np.float64), axis=-1, kind="stable"
        )
        return values_at(scores, np.take_along_axis(held, best[..., : w.topk], axis=-1))

    return select


def repeating(w):
    """The exact selection, except that a row of only −inf returns its first column everywhere."""

    def select(scores):
        _, indices = exact(w)(scores=scores)
        return values_at(scores, np.where(np.isneginf(scores).all(-1, keepdims=True), 0, indices))

    return select


def cleaned(w):
    """NaN becomes zero first, so the returned values are not the row's own scores."""

    def select(scores):
        return exact(w)(
            scores=np.nan_to_num(np.where(np.isnan(scores), 9, scores), neginf=-np.inf, posinf=np.inf)
        )

    return select


def finite_only(w):
    """Infinite scores count as closed ones."""

    def select(scores):
        _, indices = exact(w)(scores=np.where(np.isposinf(scores), -np.inf, scores))
        return values_at(scores, indices)

    return select


def never_one(w):
    """Right except for topk 1, where it selects the second."""
    return without_best(w, 1) if w.topk == 1 else exact(w)


BROKEN = [
    ("recall_target_strict", partial(without_last, count=4), {}, "does not show the target 0.95"),
    (
        "recall_target_strict",
        partial(bucketed, buckets=1024, keep=1),
        {"buckets": 2048, "keep": 1},
        "over four standard errors below 0.9923",
    ),
    (
        "arm_executed",
        exact,
        {"buckets": 2048, "keep": 1},
        "found 64 of 64, but 2048 buckets of 1 keep 32",
    ),
    ("arm_executed", partial(bucketed, buckets=512, keep=1), {"buckets": 512, "keep": 2}, "8 of 64"),
    ("attention_mass_recall", partial(without_best, count=3), {}, "does not show the target 0.95"),
    ("value_recall", partial(without_best, count=3), {}, "does not show the target 0.95"),
    ("edge_rows", repeating, {}, "closed: an index is returned twice"),
    ("edge_rows", cleaned, {}, "nan: a value is not the score"),
    ("edge_rows", finite_only, {}, "infinite: the largest score is missing"),
    ("edge_rows", never_one, {}, "topk 1: the largest is found in 0.0000"),
]


@pytest.mark.parametrize(("name", "builder", "options", "reason"), BROKEN)
def test_a_broken_selection_fails(name, builder, options, reason):
    assert_failed(verdict(name, PLAIN, builder, **options), reason)


def test_what_fails_strictly_passed_its_contract():
    """The three best of 64 are skipped: a recall of 0.953."""
    assert verdict("recall_target_strict", PLAIN, partial(without_best, count=3)).passed


@pytest.mark.parametrize("distribution", ["iid", "clustered", "tied", "causal", "periodic"])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", [name for name, check in CHECKS.items() if check.decides])
def test_an_exact_selection_and_one_in_buckets_pass(name, dtype, distribution):
    w = TopkWorkload(rows=8, seq=2048, topk=32, dtype=dtype, distribution=distribution)
    two = trial(w, partial(bucketed, buckets=512, keep=2), buckets=512, keep=2)
    assert CHECKS[name].judge(two).passed, CHECKS[name].judge(two).reason
    if name != "arm_executed":
        assert verdict(name, w, exact).passed


@pytest.mark.parametrize("name", ["recall_target_strict", "attention_mass_recall", "value_recall"])
def test_a_target_of_one_is_not_missed_by_rounding(name):
    w = TopkWorkload(rows=8, seq=512, topk=37, recall=1.0)
    assert verdict(name, w, exact).passed
    assert not verdict(name, w, partial(without_last, count=1)).passed


def test_one_row_is_drawn_more_than_once():
    judged = assert_passed(verdict("recall_target_strict", TopkWorkload(rows=1, seq=256, topk=8), exact))
    assert judged.figures["rows"] == 256


def test_a_plan_may_promise_the_target_where_a_sample_cannot_show_it():
    w = TopkWorkload(rows=8, seq=4096, topk=64, recall=0.9923)
    plan = {"buckets": 2048, "keep": 1}
    builder = partial(bucketed, **plan)
    judged = verdict("recall_target_strict", w, builder, **plan)
    assert judged.figures["low"] < w.recall < judged.figures["high"]
    assert judged.passed
    assert not verdict("recall_target_strict", w, builder).passed, "nothing vouches for it without its plan"


def test_shares_by_hand():
    """Of 4, 3, 2 and 1 the 4 is missing: 6 of 10 by value, and by mass 1/(1+e+e²+e³) times e²+e+1."""
    w = TopkWorkload(rows=4, seq=8, topk=4, recall=0.1)
    row = np.array([4, 3, 2, 1, 0.5, -1, -2, -3], np.float32)
    made = trial(w, partial(without_best, count=1))
    made.inputs["scores"] = np.tile(row, (1, 4, 1))
    e = np.e
    for name, figure, share in [
        ("recall_target_strict", "recall", 0.75),
        ("value_recall", "value", 0.6),
        ("attention_mass_recall", "mass", (1 + e + e**2) / (1 + e + e**2 + e**3)),
    ]:
        assert CHECKS[name].judge(made).figures[figure] == pytest.approx(share)


def test_closed_rows_lose_no_mass():
    made = trial(TopkWorkload(rows=8, seq=64, topk=16, distribution="causal"), exact)
    made.inputs["scores"][:, :2] = -np.inf
    for name in ("attention_mass_recall", "value_recall"):
        assert CHECKS[name].judge(made).figures["low"] == 1.0


def test_the_worst_row_and_the_mean_are_distinguished():
    def one_row_bad(w):
        def select(scores):
            indices = exact(w)(scores=scores)[1].copy()
            indices[0, 0] = without_best(w, w.topk // 2)(scores=scores)[1][0, 0]
            return values_at(scores, indices)

        return select

    judged = assert_passed(verdict("worst_row", PLAIN, one_row_bad))
    assert judged.figures["worst_row"] == judged.figures["worst_as_drawn"] == 0.5
    assert judged.figures["mean"] == pytest.approx(1 - 0.5 / 16)


def test_placement_depends_on_the_bucket():
    """64 of 4096: a run of 64 fills two of 64 buckets of neighbours, and one place in each strided bucket."""
    strided = verdict("placement", PLAIN, partial(bucketed, buckets=64, keep=1), buckets=64, keep=1).figures
    assert (strided["run"], strided["stride_64"], strided["worst"]) == (1, 1 / 64, 1 / 64)
    beside = verdict("placement", PLAIN, partial(bucketed, buckets=64, keep=1, neighbours=True)).figures
    assert beside["run"] == 1 / 32, "the run begins in the middle of a bucket"
    assert set(verdict("placement", PLAIN, exact).figures.values()) == {1}


def test_order_of_a_sorted_and_of_a_partitioned_selection():
    assert set(verdict("order", PLAIN, exact).figures.values()) == {1}
    figures = verdict("order", PLAIN, partition.builder).figures
    assert figures["descending"] < 1
    assert figures["ties_by_index"] == 0
    w = TopkWorkload(rows=4, seq=64, topk=8, distribution="causal")
    assert verdict("order", w, exact).figures["ties_same_set"] == 1


def test_edge_rows_report_what_happens_to_nan():
    assert verdict("edge_rows", PLAIN, partition.builder).figures["nan"] == "taken"
    assert verdict("edge_rows", PLAIN, exact).figures["nan"] == "left out"
    assert verdict("edge_rows", PLAIN, exact).figures["largest_alone"] == 1


W = TopkWorkload(rows=8, seq=4096, topk=64)
NARROW = TopkWorkload(rows=32, seq=16384, topk=512, distribution="narrow")
OTHERS = ((V.approx, {}), (V.approx_unaggregated, {}), (V.approx_override, {"shards": 4}))
CASES = [*OTHERS, *((V.two_stage, {"buckets": n, "keep": keep}) for n, keep in ((512, 2), (2048, 1)))]


def compiled(variant, w, **options):
    """An implementation's trial, compiled, with XLA's facts about the program."""
    import jax

    function = variant(w, **options)
    program = planned(function, FAMILY.shapes(w))
    static = xla_figures.figures(program, jax.default_backend(), lower_s=0.0, compile_s=0.0)

    @functools.wraps(function)
    def call(**inputs):
        return program(**inputs)

    return trial(w, lambda w2: call if w2 == w else jit(variant(w2, **options)), static=static, **options)


@pytest.mark.jax
@pytest.mark.parametrize(("variant", "options"), CASES, ids=lambda case: getattr(case, "name", str(case)))
def test_the_approximate_implementations_pass(variant, options):
    made = compiled(variant, W, **options)
    for check in FAMILY.checks:
        try:
            judged = check.judge(made)
        except Unsupported:
            assert "buckets" not in options
            continue
        assert judged.passed, f"{check.name}: {judged.reason}"


@pytest.mark.jax
def test_the_operator_approximates_nothing_here_and_says_so():
    made = compiled(V.approx, W)
    figures = CHECKS["approximation_engaged"].judge(made).figures
    if "PartialReduce" in made.static.custom_calls:
        pytest.skip("a TPU approximates")
    assert figures["approximation"] == "exact by fallback"
    assert figures["lost"] == 0
    assert V.approx.facts(W, made.static, {})["approximation"] == "exact by fallback"


@pytest.mark.jax
def test_two_stages_lose_a_run_of_their_stride_and_keep_one_of_neighbours():
    figures = CHECKS["placement"].judge(compiled(V.two_stage, W, buckets=512, keep=2)).figures
    assert figures["run"] == 1
    assert figures["stride_512"] == figures["worst"] == 16 / 64


def test_coarse_keys_fail_what_they_declare_and_nothing_else():
    declared = V.radix_f16.fails(NARROW, {})
    made = trial(NARROW, V.radix_f16)
    failed = {
        c.name for c in FAMILY.checks if c.decides and c.name != "arm_executed" and not c.judge(made).passed
    }
    assert failed == set(declared) == {"recall_target_strict", "attention_mass_recall", "value_recall"}
    assert not V.radix_f16.fails(W, {})
