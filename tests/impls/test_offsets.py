"""The offsets family: inputs, reference pair by pair, contract, and where counting ids fails."""

import numpy as np
import pytest

from impls.offsets.family import FAMILY, OffsetsWorkload, partnerless
from tests.impls.judgements import drawn
from tests.impls.offsets_case import KINDS, LAYOUTS, judged, met, reference


def by_hand(w, ids_q, ids_kv, pos_q, pos_kv):
    """One row's definition, written out: a loop over all pairs."""
    pairs = met(w, ids_q, ids_kv, pos_q, pos_kv)
    sides = []
    for ids, tokens in ((ids_q, {i for i, _ in pairs}), (ids_kv, {j for _, j in pairs})):
        counted = [int(number) if i in tokens else 0 for i, number in enumerate(ids)]
        starts = [i for i, number in enumerate(counted) if number and (i == 0 or counted[i - 1] != number)]
        lengths = [counted.count(place + 1) for place in range(w.max_segments)]
        sides.append((lengths, (starts + [-1] * len(ids) * 2)[: w.max_segments + 1]))
    (q_len, q_off), (kv_len, kv_off) = sides
    return [q_len, kv_len, q_off, kv_off]


@pytest.mark.parametrize("seed", range(5))
def test_layouts_are_what_they_say(seed):
    rows, sizes = {}, {}
    for layout in LAYOUTS:
        inputs = drawn(FAMILY, OffsetsWorkload(seq=160, max_segments=8, layout=layout), seed)
        rows[layout] = {name: array[0] for name, array in inputs.items()}
        for side in ("q", "kv"):
            ids = rows[layout][f"segment_ids_{side}"]
            sizes[layout, side] = np.bincount(ids, minlength=9)[1:]
            assert (np.diff(ids[ids != 0]) >= 0).all()
            assert 6 <= ids.max() <= 8
    for layout in ("self", "intra_padding"):
        for of in ("segment_ids", "positions"):
            assert np.array_equal(rows[layout][f"{of}_q"], rows[layout][f"{of}_kv"])
    gaps = [np.flatnonzero(rows["intra_padding"]["segment_ids_q"] == s) for s in (1, 2, 3)]
    assert all(len(at) < at[-1] - at[0] + 1 for at in gaps)
    q, kv = sizes["cross", "q"], sizes["cross", "kv"]
    assert (q[q > 0] < kv[q > 0]).all()
    assert np.array_equal(q > 0, kv > 0)
    q, kv = sizes["absent", "q"], sizes["absent", "kv"]
    assert (q[kv == 0] > 0).any()
    assert np.array_equal(q[kv > 0], kv[kv > 0])
    assert (rows["striped"]["positions_q"][rows["striped"]["segment_ids_q"] == 1] % 2 == 0).all()
    assert (rows["striped"]["positions_kv"][rows["striped"]["segment_ids_kv"] == 1] % 2 == 1).all()
    ids, positions = rows["self"]["segment_ids_q"], rows["self"]["positions_q"]
    restarts = np.flatnonzero(np.diff(positions) != 1) + 1
    assert (positions[restarts] == 0).all()
    assert (ids[restarts] != 0).all(), "positions count on through padding"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", ["self", "cross", "absent", "striped"])
def test_reference_is_the_definition_pair_by_pair(kind, layout):
    for seed in range(4):
        w = OffsetsWorkload(batch=2, seq=40, max_segments=4, kind=kind, layout=layout, window=3)
        inputs = drawn(FAMILY, w, seed)
        result = reference(w, inputs)
        for row in range(2):
            sides = [
                inputs[f"{part}_{side}"][row] for part in ("segment_ids", "positions") for side in ("q", "kv")
            ]
            assert [part[row].tolist() for part in result] == by_hand(w, *sides)


def test_reference_in_several_blocks():
    """One segment longer than a block of the reference, in which each key has only one query."""
    w = OffsetsWorkload(seq=2500, max_segments=1, kind="sliding", window=1)
    row, positions = np.ones((1, 2500), np.int32), np.arange(2500, dtype=np.int32)[None]
    inputs = {"segment_ids_q": row, "segment_ids_kv": row}
    inputs |= {"positions_q": positions, "positions_kv": positions + 5}
    assert [part[0].tolist() for part in reference(w, inputs)] == [[2495], [2495], [5, -1], [0, -1]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_counting_ids_fails_on_every_seed_or_on_none(kind, layout):
    """The predicate of the two counting implementations, over seeds: their result is the ids' own tail."""
    for seq, segments, window in ((256, 16, 1), (256, 2, 4096), (512, 100, 20)):
        w = OffsetsWorkload(seq=seq, max_segments=segments, kind=kind, layout=layout, window=window)
        everything = OffsetsWorkload(seq=seq, max_segments=segments, kind="padding")
        for seed in range(4):
            inputs = drawn(FAMILY, w, seed)
            sides = [{**inputs, "segment_ids_kv": inputs["segment_ids_q"]}]
            sides.append({**inputs, "segment_ids_q": inputs["segment_ids_kv"]})
            of_q, of_kv = (reference(everything, side) for side in sides)
            assert judged(w, inputs, (of_q[0], of_kv[1], of_q[2], of_kv[3])).passed != partnerless(w), seed


def test_contract_accepts_both_values_of_an_empty_length():
    w = OffsetsWorkload(seq=64, max_segments=4)
    inputs = drawn(FAMILY, w, 4)
    right = reference(w, inputs)
    minus = tuple(np.where(part == 0, -1, part) for part in right[:2]) + right[2:]
    assert judged(w, inputs, right).passed
    assert judged(w, inputs, minus).passed
    assert not judged(w, inputs, (right[0] + 1, *right[1:])).passed
    assert not judged(w, inputs, (*right[:2], np.maximum(right[2], 0), right[3])).passed
    assert "parts" in judged(w, inputs, right[:3]).reason
