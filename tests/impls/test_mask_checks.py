"""The checks of the mask family: each detects its own mistake."""

import inspect
from functools import partial

import numpy as np
import pytest

from impls.mask.family import FAMILY, MaskWorkload
from impls.mask.reference import closed_value, selection_mask, visible
from tests.impls.judgements import assert_failed
from tests.impls.trials import trial_of

CHECKS = {check.name: check for check in FAMILY.checks}
PLAIN = MaskWorkload(rows=6, seq=300, topk=40)
NEG = closed_value("f32")


def verdict(name, w, function):
    """What a check says of a callable, which names the inputs that it takes."""
    return CHECKS[name].judge(trial_of(FAMILY, w, lambda _: function))


def mask(keep):
    return np.where(keep, np.float32(0), NEG)


def strictly_above(scores, topk_values):
    return mask(scores > topk_values[..., -1:])


def arithmetic(scores, topk_values):
    """Opens by multiplying, so a NaN score stays NaN."""
    return np.where(scores >= topk_values[..., -1:], scores * 0, np.where(np.isnan(scores), scores, NEG))


def unshifted(topk_indices, queries, keys, values):
    """A softmax that does not subtract the largest logit."""
    kept = selection_mask(PLAIN, None)(topk_indices) == 0
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.exp(np.einsum("btd,bsd->bts", queries, keys)) * kept
        return np.einsum("bts,bsd->btd", weights / weights.sum(-1, keepdims=True), values)


def next_column(topk_indices):
    """Every open column one too far to the right, so that it is a later token."""
    return selection_mask(PLAIN, None)((topk_indices + 1) % PLAIN.seq)


def latest(scores, topk_values):
    """The last of the columns that reach the cutoff; in a short row those are hidden ones."""
    reach = scores >= topk_values[..., -1:]
    return mask(reach & (np.cumsum(reach[..., ::-1], axis=-1)[..., ::-1] <= PLAIN.topk))


def at_most(topk_indices):
    """All columns up to the largest index: right only for an empty count."""
    return mask(np.arange(PLAIN.seq) <= topk_indices.max(axis=-1, keepdims=True))


def no_last_column(topk_indices):
    out = selection_mask(PLAIN, None)(topk_indices)
    out[..., -1] = NEG
    return out


def by_last_index(topk_indices, scores):
    """Assumes that the last index is the cutoff's."""
    return mask(scores >= np.take_along_axis(scores, topk_indices[..., -1:], axis=-1))


def exactly_once(topk_indices):
    """A sum of one-hot rows that tests for 1 instead of more than 0."""
    return mask((topk_indices[..., None] == np.arange(PLAIN.seq)).sum(axis=-2) == 1)


HEADED = MaskWorkload(rows=6, seq=300, topk=40, head_dim=8)
BROKEN = [
    ("kept_count", strictly_above, "39 to 39 columns are open, not topk 40"),
    ("kept_count", at_most, "without any ties"),
    ("no_nan", arithmetic, "6 results are NaN if each row has one NaN score"),
    ("no_nan", unshifted, "are NaN if logits are in the thousands"),
    ("all_masked_row", latest, "rows have no open column; the first is [0, 0]"),
    ("all_masked_row", next_column, "1 rows have no open column"),
    ("matches_indices", no_last_column, "6 of the indices are closed, 0 other columns"),
    ("matches_indices", next_column, "are closed"),
    ("order_of_indices", by_last_index, "columns change if the indices are ascending"),
    ("duplicates", exactly_once, "of the indices are closed"),
]


@pytest.mark.parametrize(("name", "broken", "says"), BROKEN, ids=[f"{n}-{b.__name__}" for n, b, _ in BROKEN])
def test_a_broken_one_is_caught(name, broken, says):
    assert_failed(verdict(name, HEADED if broken is unshifted else PLAIN, broken), says)


def test_a_closed_visible_index_counts_under_causal_and_a_hidden_one_does_not():
    w = MaskWorkload(rows=6, seq=60, topk=40, causal=True)
    seen = visible(w, np.arange(w.rows))
    assert verdict("matches_indices", w, lambda topk_indices: _masked(w, topk_indices, seen)).passed
    too_little = seen & (np.arange(w.seq) > 0)
    wrong = verdict("matches_indices", w, lambda topk_indices: _masked(w, topk_indices, too_little))
    assert wrong.figures["missing"] > 0
    assert not wrong.passed


def _masked(w, topk_indices, seen):
    with np.errstate(over="ignore"):
        return selection_mask(w, None)(topk_indices) + mask(seen)


def test_a_block_that_is_not_listed_is_closed():
    """`inside` by itself is right; a kernel that relies on `held` skips the block."""
    w = MaskWorkload(rows=2, seq=256, topk=200)

    def forgets(topk_indices, skip):
        inside = (selection_mask(w, None)(topk_indices) == 0).reshape(1, w.rows, 2, 128)
        held = inside.any(axis=-1)
        held[..., 1] &= not skip
        return {"held": held, "inside": inside}

    for skip in (False, True):
        function = partial(forgets, skip=skip)
        function.__signature__ = inspect.Signature([inspect.Parameter("topk_indices", 3)])
        assert verdict("matches_indices", w, function).passed is not skip


def test_ties_are_a_property_with_their_size():
    w = MaskWorkload(rows=8, seq=4096, topk=256, dtype="bf16")
    figures = verdict("kept_ties", w, FAMILY.semantics["threshold"].reference(w, None)).figures
    assert figures["least"] >= w.topk
    assert figures["most"] > figures["mean"] > w.topk
    assert figures["rows_over_topk"] > 0
    exact = verdict("kept_ties", w, selection_mask(w, None)).figures
    assert (exact["most"], exact["rows_over_topk"]) == (w.topk, 0)
    assert not CHECKS["kept_ties"].decides


def counted(w, scores, topk_values, *, front):
    """Exact count by position: of what reaches the cutoff, the first or the last `topk` columns."""
    reach = scores >= topk_values[..., -1:]
    flipped = reach if front else reach[..., ::-1]
    keep = flipped & (np.cumsum(flipped, axis=-1) <= w.topk)
    return mask(keep if front else keep[..., ::-1])


@pytest.mark.parametrize(("front", "least", "most"), [(True, 0.95, 1.0), (False, 0.0, 0.05)])
def test_bias_reports_where_dropped_columns_were(front, least, most):
    w = MaskWorkload(rows=8, seq=4096, topk=400)
    figures = verdict(
        "positional_bias", w, lambda scores, topk_values: counted(w, scores, topk_values, front=front)
    ).figures
    assert least < figures["dropped_at"] < most
    assert 15 <= figures["dropped_a_row"] <= 20
    assert figures["dropped_a_row"] == figures["beside_a_row"]
    assert figures["recall_of_indices"] == 0.95
    assert not CHECKS["positional_bias"].decides


def test_a_threshold_drops_nothing_and_opens_more():
    w = MaskWorkload(rows=8, seq=4096, topk=400)
    figures = verdict("positional_bias", w, FAMILY.semantics["threshold"].reference(w, None)).figures
    assert (figures["dropped_a_row"], figures["dropped_at"], figures["beside_a_row"]) == (0, None, 20)
    assert figures["recall"] == 1
