"""The checks of the offsets family: each detects its own mistake."""

from dataclasses import replace

import numpy as np
import pytest

from impls.offsets import _checks_golden
from impls.offsets.family import FAMILY, OffsetsWorkload
from impls.offsets.reference import pairwise, run_lengths
from tests.impls.judgements import assert_failed
from tests.impls.trials import trial_of

CHECKS = {check.name: check for check in FAMILY.checks}
PLAIN = OffsetsWorkload(batch=2, seq=64, max_segments=5)
SHORT = replace(PLAIN, kind="bottom_right")


def verdict(name, w, build):
    """What a check says of a builder whose callables take numpy arrays."""
    return CHECKS[name].judge(trial_of(FAMILY, w, build))


def right(w):
    return pairwise(w, None)


def counted(w):
    """Counts all ids, with or without a partner."""

    def offsets(segment_ids_q, segment_ids_kv):
        same = replace(w, kind="padding")
        q, kv = (pairwise(same, None)(ids, ids, ids, ids) for ids in (segment_ids_q, segment_ids_kv))
        return q[0], kv[1], q[2], kv[3]

    return offsets


def changed(change):
    """The right answer, changed by `change(answer, inputs, w)`."""

    def build(w):
        def offsets(segment_ids_q, segment_ids_kv, positions_q, positions_kv):
            inputs = (segment_ids_q, segment_ids_kv, positions_q, positions_kv)
            return change([np.array(part) for part in right(w)(*inputs)], inputs, w)

        return offsets

    return build


def first_row(answer, inputs, w):
    """Uses the first row's positions for every row."""
    ids_q, ids_kv, positions_q, positions_kv = inputs
    same = (np.broadcast_to(part[:1], part.shape) for part in (positions_q, positions_kv))
    return right(w)(ids_q, ids_kv, *same)


def flattened(answer, inputs, w):
    """Offsets count over the whole batch, like those of a row of cu_seqlens."""
    before = np.arange(w.batch)[:, None] * w.seq
    return (*answer[:2], *(np.where(part >= 0, part + before, -1) for part in answer[2:]))


def one_start(answer, inputs, w):
    """Only the first start of every id, as in #2522's first commit for a gap inside."""
    for part, ids in zip(answer[2:], inputs, strict=False):
        for starts, row in zip(part, ids, strict=True):
            _, at = np.unique(row[starts[starts >= 0]], return_index=True)
            starts[:] = np.pad(starts[at], (0, len(starts) - len(at)), constant_values=-1)
    return answer


def first_runs(answer, inputs, w):
    """Ignores tokens after a row's first 13 runs."""
    runs = [np.cumsum(np.diff(ids, axis=1, prepend=~ids[:, :1]) != 0, axis=1) for ids in inputs[:2]]
    ids = [np.where(run > 13, 0, row) for run, row in zip(runs, inputs, strict=False)]
    return right(w)(*ids, *inputs[2:])


def clipped(answer, inputs, w):
    """Counts ids beyond max_segments into the last slot."""
    for part, ids in zip(answer[:2], inputs, strict=False):
        part[:, -1] += (ids > w.max_segments).sum(axis=1, dtype=np.int32)
    return answer


def last_is_free(answer, inputs, w):
    """The last offset is −1, although segments fill all slots and more."""
    for part in answer[2:]:
        part[:, -1] = -1
    return answer


def ends_at_seq(answer, inputs, w):
    """The slot after the last segment has the row's end, as in cu_seqlens."""
    for part in answer[2:]:
        for starts in part:
            starts[np.flatnonzero(starts < 0)[:1]] = w.seq
    return answer


def starts_somewhere(answer, inputs, w):
    """A row without segments begins at its first token."""
    for part in answer[2:]:
        part[(part < 0).all(axis=1), 0] = 0
    return answer


def filled(w):
    """The largest key of a segment starts at −1, as merged; correct unless keys are below it."""

    def offsets(segment_ids_q, segment_ids_kv, positions_q, positions_kv):
        met = []
        rows = zip(segment_ids_q, segment_ids_kv, positions_q, positions_kv, strict=True)
        for q, kv, pos_q, pos_kv in rows:
            left_q, left_kv = run_lengths(q) - pos_q, run_lengths(kv) - pos_kv
            most = np.array([max([-1, *left_kv[(kv == s) & (s > 0)]]) for s in q])
            least = np.array([min([99, *left_q[(q == s) & (s > 0)]]) for s in kv])
            met.append((np.where(left_q <= most, q, 0), np.where(left_kv >= least, kv, 0)))
        return counted(w)(*(np.stack(side) for side in zip(*met, strict=True)))

    return offsets


def late(answer, inputs, w):
    """Every start one token too far."""
    return (*answer[:2], *(np.where(part >= 0, part + 1, part) for part in answer[2:]))


BROKEN = [
    ("golden", PLAIN, counted, "G3, G4, G5, G6, G10a, G10b differ; G3: kv_seqlens are [4, 10, 0]"),
    ("golden", PLAIN, changed(ends_at_seq), "G1, G2, G3, G4, G5, G6, G7, G9, G10a, G10b differ"),
    ("batch_equals_per_row", PLAIN, changed(first_row), "for G10b in a batch, q_seqlens are"),
    ("batch_equals_per_row", PLAIN, changed(flattened), "G10b in a batch, q_offsets are [17, 23, -1, -1]"),
    ("intra_segment_padding", PLAIN, changed(one_start), "q_offsets are [0, 4, -1, -1], not [0, 3, 4, -1]"),
    ("many_gaps", PLAIN, changed(first_runs), "q_seqlens are [2, 3, 2], not [2, 3, 3]"),
    ("ids_above_max_segments", PLAIN, changed(clipped), "q_seqlens are [0, 0, 8], not [0, 0, 0]"),
    (
        "more_segments_than_slots",
        PLAIN,
        changed(last_is_free),
        "q_offsets are [0, 1, 2, -1], not [0, 1, 2, 3]",
    ),
    ("all_padding", PLAIN, changed(starts_somewhere), "q_offsets are [0, -1, -1, -1], not [-1, -1, -1, -1]"),
    ("all_padding", PLAIN, changed(ends_at_seq), "q_offsets are [16, -1, -1, -1]"),
    ("short_striped_segments", SHORT, filled, "q_seqlens are [1, 1, 2], not [0, 0, 1]"),
    ("short_striped_segments", SHORT, counted, "q_seqlens are [1, 1, 2], not [0, 0, 1]"),
    ("cu_seqlens_round_trip", PLAIN, changed(late), "the q ids of row 0 cannot be rebuilt"),
    ("cu_seqlens_round_trip", PLAIN, changed(ends_at_seq), "has a q offset after its last segment"),
]


@pytest.mark.parametrize(("name", "w", "build", "says"), BROKEN)
def test_a_broken_one_is_caught(name, w, build, says):
    assert_failed(verdict(name, w, build), says)


def test_only_plain_cases_run_the_vectors():
    for check in FAMILY.checks:
        assert not check.concerns("exact", "fwd", _checks_golden.FIELDS, replace(SHORT, layout="striped"))
        assert check.concerns("exact", "fwd", _checks_golden.FIELDS, SHORT)


def test_a_batch_is_held_to_its_rows_and_the_vectors_each_alone():
    assert verdict("golden", PLAIN, changed(flattened)).passed
    assert verdict("batch_equals_per_row", PLAIN, counted).passed


def test_a_gap_is_counted_with_its_figures():
    figures = verdict("intra_segment_padding", PLAIN, right).figures
    assert figures == {"starts_q": 3, "starts_kv": 3, "segments": 2}
    assert verdict("intra_segment_padding", PLAIN, changed(one_start)).figures["starts_q"] == 2


@pytest.mark.parametrize(
    ("empty", "said"), [(lambda n: 0, 0), (lambda n: -1, -1), (lambda n: -np.arange(n) % -2, "-1 and 0")]
)
def test_the_value_of_an_empty_length_is_a_property(empty, said):
    def spell(answer, inputs, w):
        fill = np.broadcast_to(empty(w.max_segments), answer[0].shape)
        return (*(np.where(part == 0, fill, part) for part in answer[:2]), *answer[2:])

    for name in ("golden", "all_padding", "cu_seqlens_round_trip"):
        assert verdict(name, PLAIN, changed(spell)).passed
    assert verdict("empty_length_spelling", PLAIN, changed(spell)).figures == {"empty": said}
    assert not CHECKS["empty_length_spelling"].decides
