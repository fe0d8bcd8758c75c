"""The checks of the topk family: each detects its own mistake."""

from functools import partial

import numpy as np
import pytest

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
    """The trial of a builder under these options."""
    return trial_of(FAMILY, w, builder, static=static, options=options)


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
    """NaN is made a number on the way, and the row's own scores are not what is returned."""

    return lambda scores: exact(w)(scores=np.where(np.isnan(scores), 9, scores))


def never_one(w):
    """Right except for topk 1, where it selects the second."""
    return without_best(w, 1) if w.topk == 1 else exact(w)


FEW = {"buckets": 2048, "keep": 1}
BROKEN = [
    ("recall_target_strict", partial(without_last, count=4), {}, "does not show the target 0.95"),
    (
        "recall_target_strict",
        partial(bucketed, buckets=1024, keep=1),
        FEW,
        "over four standard errors below 0.9923",
    ),
    ("arm_executed", exact, FEW, "found 64 of 64, but 2048 buckets of 1 keep 32"),
    ("arm_executed", partial(bucketed, buckets=512, keep=1), {"buckets": 512, "keep": 2}, "8 of 64"),
    ("attention_mass_recall", partial(without_best, count=3), {}, "does not show the target 0.95"),
    ("value_recall", partial(without_best, count=3), {}, "does not show the target 0.95"),
    ("edge_rows", repeating, {}, "closed: an index is returned twice"),
    ("edge_rows", cleaned, {}, "nan: a value is not the score"),
    ("edge_rows", never_one, {}, "topk 1: the largest is found in 0.0000"),
]


@pytest.mark.parametrize(("name", "builder", "options", "reason"), BROKEN)
def test_a_broken_selection_fails(name, builder, options, reason):
    assert_failed(verdict(name, PLAIN, builder, **options), reason)


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
    builder = partial(bucketed, **FEW)
    judged = verdict("recall_target_strict", w, builder, **FEW)
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


@pytest.mark.jax
def test_the_operator_approximates_nothing_here_and_says_so():
    import jax

    program = planned(V.approx(PLAIN), FAMILY.shapes(PLAIN))
    static = xla_figures.figures(program, jax.default_backend(), lower_s=0.0, compile_s=0.0)
    if "PartialReduce" in static.custom_calls:
        pytest.skip("a TPU approximates")
    figures = verdict("approximation_engaged", PLAIN, lambda w: jit(V.approx(w)), static=static).figures
    assert (figures["approximation"], figures["lost"]) == ("exact by fallback", 0)
    assert V.approx.facts(PLAIN, static, {})["approximation"] == "exact by fallback"
