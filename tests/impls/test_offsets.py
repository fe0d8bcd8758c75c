"""The offsets family: every variant against the pairwise definition, and what XLA plans for it."""

import math
from functools import cache

import numpy as np
import pytest

from impls.offsets.family import FAMILY, OffsetsWorkload, partnerless, zero_empty
from impls.offsets.reference import run_lengths
from tests.impls.jax_case import planned
from tests.impls.offsets_case import KINDS, LAYOUTS, judged, met, reference
from tests.impls.variants import OFFSETS as V

ALL = (V.mask_quadratic, V.compact_bincount, V.bincount, V.onehot_minmax, V.segment_min)
NAMES = [variant.name for variant in ALL]


def by_hand(w, ids_q, ids_kv, pos_q, pos_kv):
    """One row's definition, written out: every pair is looked at."""
    pairs = met(w, ids_q, ids_kv, pos_q, pos_kv)
    sides = []
    for ids, tokens in ((ids_q, {i for i, _ in pairs}), (ids_kv, {j for _, j in pairs})):
        counted = [int(number) if i in tokens else 0 for i, number in enumerate(ids)]
        starts = [i for i, number in enumerate(counted) if number and (i == 0 or counted[i - 1] != number)]
        lengths = [counted.count(place + 1) for place in range(w.max_segments)]
        sides.append((lengths, (starts + [-1] * len(ids) * 2)[: w.max_segments + 1]))
    (q_len, q_off), (kv_len, kv_off) = sides
    return q_len, kv_len, q_off, kv_off


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(10))
def test_inputs_are_packed_rows(layout, seed):
    w = OffsetsWorkload(batch=2, seq=160, max_segments=8, layout=layout)
    inputs = FAMILY.inputs(w, np.random.default_rng(seed))
    for ids in (inputs["segment_ids_q"], inputs["segment_ids_kv"]):
        for row in ids:
            tokens = row[row != 0]
            assert (np.diff(tokens) >= 0).all()
            assert tokens[0] >= 1
            assert tokens[-1] <= 8
    assert (inputs["segment_ids_q"].max(axis=1) >= 6).all()


def segment_sizes(ids):
    return np.bincount(ids, minlength=9)[1:]


@pytest.mark.parametrize("seed", range(10))
def test_layouts_are_what_they_say(seed):
    rows = {}
    for layout in LAYOUTS:
        w = OffsetsWorkload(seq=160, max_segments=8, layout=layout)
        inputs = FAMILY.inputs(w, np.random.default_rng(seed))
        rows[layout] = {name: array[0] for name, array in inputs.items()}
    for layout in ("self", "intra_padding"):
        assert np.array_equal(rows[layout]["segment_ids_q"], rows[layout]["segment_ids_kv"])
        assert np.array_equal(rows[layout]["positions_q"], rows[layout]["positions_kv"])
    gaps = [np.flatnonzero(rows["intra_padding"]["segment_ids_q"] == s) for s in (1, 2, 3)]
    assert all(len(at) < at[-1] - at[0] + 1 for at in gaps)
    q, kv = (segment_sizes(rows["cross"][f"segment_ids_{side}"]) for side in ("q", "kv"))
    assert (q[q > 0] < kv[q > 0]).all()
    assert np.array_equal(q > 0, kv > 0)
    q, kv = (segment_sizes(rows["absent"][f"segment_ids_{side}"]) for side in ("q", "kv"))
    assert (q[kv == 0] > 0).any()
    assert np.array_equal(q[kv > 0], kv[kv > 0])
    assert (rows["striped"]["positions_q"][rows["striped"]["segment_ids_q"] == 1] % 2 == 0).all()
    assert (rows["striped"]["positions_kv"][rows["striped"]["segment_ids_kv"] == 1] % 2 == 1).all()


def test_positions_count_on_through_padding():
    inputs = FAMILY.inputs(OffsetsWorkload(seq=96, max_segments=3), np.random.default_rng(2))
    ids, positions = inputs["segment_ids_q"][0], inputs["positions_q"][0]
    assert (ids == 0).any()
    restarts = np.flatnonzero(np.diff(positions) != 1) + 1
    assert (positions[restarts] == 0).all()
    assert (ids[restarts] != 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", ["self", "cross", "absent", "striped"])
def test_reference_is_the_definition_pair_by_pair(kind, layout):
    for seed in range(4):
        w = OffsetsWorkload(batch=2, seq=40, max_segments=4, kind=kind, layout=layout, window=3)
        inputs = FAMILY.inputs(w, np.random.default_rng(seed))
        result = reference(w, inputs)
        for row in range(2):
            one = (
                inputs[f"{part}_{side}"][row] for part in ("segment_ids", "positions") for side in ("q", "kv")
            )
            want = by_hand(w, *one)
            assert [part[row].tolist() for part in result] == [list(part) for part in want]


def test_reference_in_several_blocks():
    """One segment longer than a block of the reference, where each key meets one query only."""
    w = OffsetsWorkload(seq=2500, max_segments=1, kind="sliding", window=1)
    row = np.ones((1, 2500), np.int32)
    positions = np.arange(2500, dtype=np.int32)[None]
    places = {"positions_q": positions, "positions_kv": positions + 5}
    inputs = {"segment_ids_q": row, "segment_ids_kv": row, **places}
    assert [part[0].tolist() for part in reference(w, inputs)] == [[2495], [2495], [5, -1], [0, -1]]


def test_run_lengths_stand_on_every_token_of_a_run():
    assert run_lengths(np.array([1, 1, 1, 0, 0, 2, 3, 3, 0, 3])).tolist() == [3, 3, 3, 0, 0, 1, 2, 2, 0, 1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_counting_ids_fails_on_every_seed_or_on_none(kind, layout):
    """The predicate of the two counting variants, over seeds: their result is the ids' own tail."""
    for seq, segments, window in ((256, 16, 1), (256, 2, 4096), (512, 100, 20)):
        w = OffsetsWorkload(seq=seq, max_segments=segments, kind=kind, layout=layout, window=window)
        everything = OffsetsWorkload(seq=seq, max_segments=segments, kind="padding")
        for seed in range(12):
            inputs = FAMILY.inputs(w, np.random.default_rng([seed, 1]))
            sides = [{**inputs, "segment_ids_kv": inputs["segment_ids_q"]}]
            sides.append({**inputs, "segment_ids_q": inputs["segment_ids_kv"]})
            of_q, of_kv = (reference(everything, side) for side in sides)
            assert judged(w, inputs, (of_q[0], of_kv[1], of_q[2], of_kv[3])).passed != partnerless(w), seed


def test_contract_takes_both_spellings_of_an_empty_length():
    w = OffsetsWorkload(seq=64, max_segments=4)
    inputs = FAMILY.inputs(w, np.random.default_rng(4))
    right = reference(w, inputs)
    minus = tuple(np.where(part == 0, -1, part) for part in right[:2]) + right[2:]
    assert judged(w, inputs, right).passed
    assert judged(w, inputs, minus).passed
    assert not judged(w, inputs, (right[0] + 1, *right[1:])).passed
    assert not judged(w, inputs, (*right[:2], np.maximum(right[2], 0), right[3])).passed
    assert "parts" in judged(w, inputs, right[:3]).reason
    assert zero_empty(right[:3]) == right[:3]


def test_cost_counts_the_comparisons_of_all_pairs():
    costs = {kind: FAMILY.cost(OffsetsWorkload(batch=2, seq=1024, kind=kind)) for kind in KINDS}
    assert [cost.dense_flops / (2 * 1024**2) for cost in costs.values()] == [2, 2, 1, 3]
    assert costs["causal"].bytes == 2 * 4 * (4 * 1024 + 16 + 16 + 17 + 17)


@cache
def figures(variant, w):
    """(temporary bytes, FLOPs) that XLA plans on this host."""
    program = planned(variant(w), FAMILY.shapes(w))
    return program.memory_analysis().temp_size_in_bytes, program.cost_analysis()["flops"]


@pytest.mark.jax
def test_the_pairwise_mask_is_planned_in_four_bytes_a_pair():
    temp, flops = figures(V.mask_quadratic, OffsetsWorkload(seq=131072))
    assert temp == pytest.approx(4 * 131072**2, rel=0.001)
    assert flops == pytest.approx(12 * 131072**2, rel=0.01)


@pytest.mark.jax
@pytest.mark.parametrize(
    ("variant", "exponent"),
    [(variant, 2 if variant is V.mask_quadratic else 1) for variant in ALL],
    ids=NAMES,
)
def test_memory_and_work_grow_with_the_stated_power_of_seq(variant, exponent):
    short, long = (figures(variant, OffsetsWorkload(seq=seq)) for seq in (16384, 32768))
    for before, after in zip(short, long, strict=True):
        assert math.log2(after / before) == pytest.approx(exponent, abs=0.01)


@pytest.mark.jax
def test_only_the_one_hot_grows_with_the_number_of_segments():
    growth = {}
    for variant in (V.compact_bincount, V.bincount, V.onehot_minmax, V.segment_min):
        few, many = (figures(variant, OffsetsWorkload(seq=32768, max_segments=m))[0] for m in (16, 256))
        growth[variant.name] = many / few
    assert growth.pop("onehot_minmax") > 10
    assert max(growth.values()) < 1.02
