"""Variants that count, trim, tile or search runs: golden vectors, their traps, and cu_seqlens and back."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impls.offsets._checks_golden import FIELDS
from impls.offsets._run_starts import boundaries
from impls.offsets.family import FAMILY, OffsetsWorkload, zero_empty
from impls.offsets.fast_causal import fast_causal, more_to_trim
from impls.offsets.mask_blocked import mask_blocked
from impls.offsets.run_length import most_runs, run_length
from impls.offsets.searchsorted import searchsorted
from impls.offsets.torch_unique import torch_unique
from tests.impls.jax_case import jit
from tests.impls.offsets_case import KINDS, LAYOUTS, call, lists, reference
from tests.impls.offsets_vectors import golden, numbers, position, row

ALL = (searchsorted, run_length, fast_causal, mask_blocked, torch_unique)
pytestmark = [pytest.mark.jax, pytest.mark.torch]

# Upstream's fast path: one token off each end at most, segments matched by place.
TRIMS = {
    "G3": ("3 4 0", "3 10 0", "0 4 -1 -1", "0 6 -1 -1"),
    "G4": ("4 2 0", "2 3 0", "0 4 -1 -1", "0 2 -1 -1"),
    "G5": ("2 2 1", "2 0 1", "0 2 5 -1", "0 2 -1 -1"),
}


@pytest.mark.parametrize("name", ["G1", "G6", *TRIMS])
def test_the_fast_path_gives_the_golden_result_or_its_known_wrong_one(name):
    """Row by row and unpadded, since it reads from the row's end."""
    inputs = golden(name)
    w = OffsetsWorkload(seq=inputs["segment_ids_q"].shape[1], max_segments=3)
    result, want = lists(call(fast_causal, w, inputs)), lists(reference(w, inputs))
    assert result == ([[numbers(part)] for part in TRIMS[name]] if name in TRIMS else want)
    assert (result != want) == (name in TRIMS)


def test_the_fast_path_looks_at_the_last_token_but_one_beyond_the_last_segment():
    """With keys twice as long as queries −2 is a token of the last segment, and it is trimmed too."""
    inputs = row("1 1 1 0 2 2 2 2", "1 1 1 1 0 0 2 2 2 2 2 2 2 2 2 2")
    w = OffsetsWorkload(seq=16, max_segments=2)
    assert call(fast_causal, w, inputs)[1].tolist() == [[3, 9]]
    inputs["positions_kv"][0, -2] = 0
    assert call(fast_causal, w, inputs)[1].tolist() == [[3, 10]]


def test_the_fast_path_compares_padding_behind_a_segment():
    """offset[i + 1] − 1 is padding here: moving its position alone changes the length."""
    inputs = row("1 1 0 2 2 2", "1 1 0 2 2 2")
    w = OffsetsWorkload(seq=6, max_segments=2)
    assert call(fast_causal, w, inputs)[1].tolist() == [[2, 3]]
    inputs["positions_kv"][0, 2] += 1
    assert call(fast_causal, w, inputs)[1].tolist() == [[1, 3]]
    assert reference(w, inputs)[1].tolist() == [[2, 3]]


@pytest.mark.parametrize(
    ("inputs", "answer"),
    [
        (row("1 1", "0 0", "0 1", "0 1"), ["2", "0", "0 -1", "-1 -1"]),
        (row("0 0 0", "1 1 1", "0 0 0", "0 1 2"), ["0", "3", "-1 -1", "0 -1"]),
        (row("1 0", "1 0", "0 0", "1 1"), ["0", "0", "1 -1", "0 -1"]),
    ],
    ids=["no keys", "no queries", "both"],
)
def test_the_fast_path_trims_only_what_both_sides_hold(inputs, answer):
    """By the lengths before any trim: a segment that loses its only query still loses its only key."""
    w = OffsetsWorkload(seq=inputs["segment_ids_q"].shape[1], max_segments=1)
    assert lists(call(fast_causal, w, inputs)) == [[numbers(part)] for part in answer]


@pytest.mark.parametrize(("window", "count"), [(3, 0), (4, 1)])
def test_a_window_of_three_ends_before_the_third_token_back(window, count):
    """The only key stands three tokens before the only query."""
    inputs = row("1", "1", "3", "0")
    w = OffsetsWorkload(seq=1, max_segments=1, kind="sliding", window=window)
    for result in (reference(w, inputs), *(call(v, w, inputs) for v in (mask_blocked, torch_unique))):
        assert lists(result)[:2] == [[[count]]] * 2


@pytest.mark.parametrize(("kind", "tile"), [*((kind, 7) for kind in KINDS), ("causal", 1000)])
def test_blocks_that_do_not_divide_the_row(kind, tile):
    w = OffsetsWorkload(batch=2, seq=61, max_segments=4, kind=kind, layout="cross", window=3)
    inputs = FAMILY.inputs(w, np.random.default_rng(1))
    assert lists(call(mask_blocked, w, inputs, tile=tile)) == lists(reference(w, inputs))


@pytest.mark.parametrize(("block", "seq"), [(16, 61), (32, 1024)])
def test_run_boundaries_in_blocks_of_any_size(block, seq):
    w = OffsetsWorkload(batch=2, seq=seq, max_segments=5, layout="intra_padding")
    inputs = FAMILY.inputs(w, np.random.default_rng(1))
    assert lists(call(run_length, w, inputs, block=block)) == lists(reference(w, inputs))


@pytest.mark.parametrize(("block", "seq"), [(16, 1), (16, 2049), (48, 2048), (64, 100)])
def test_run_boundaries_however_dense_the_changes_are(block, seq):
    """A change at every token, several in a block, one in many blocks, none; ids of any size."""

    first = jit(lambda ids: boundaries(ids, 66, block))
    random = np.random.default_rng(seq)
    for values, length in ((3, 1), (3, 7), (2, 40), (5, 300), (1, 1)):
        ids = (
            random.choice([0, 1, -1, 2**31 - 1, -(2**31)][:values], seq).repeat(length)[:seq].astype(np.int32)
        )
        places = np.flatnonzero(np.diff(ids, prepend=~ids[:1]))[:66]
        assert first(ids).tolist() == [*places, *[seq] * (66 - len(places))]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_layout_has_more_runs_than_are_found(layout):
    for seed in range(20):
        w = OffsetsWorkload(batch=4, seq=64 + seed, max_segments=1 + seed % 16 + (layout == "absent"))
        inputs = FAMILY.inputs(replace(w, layout=layout), np.random.default_rng(seed))
        for ids in (inputs["segment_ids_q"], inputs["segment_ids_kv"]):
            runs = 1 + (np.diff(ids, axis=1) != 0).sum(axis=1)
            assert runs.max() <= most_runs(w) == run_length.facts(w, None, {})["most_runs_of_a_row"]


def test_more_runs_than_places_lose_the_last():
    inputs = row("1 0 1 0 1 0 1", "1 0 1 0 1 0 1")
    w = OffsetsWorkload(seq=7, max_segments=1)
    assert reference(w, inputs)[0].tolist() == [[4]]
    assert call(run_length, w, inputs)[0].tolist() == [[3]]


def test_the_fast_path_is_expected_to_fail_only_where_it_must():
    known = {name: more_to_trim(OffsetsWorkload(seq=64, max_segments=8, layout=name)) for name in LAYOUTS}
    assert {name for name, fails in known.items() if fails} == {"cross", "absent"}
    assert more_to_trim(OffsetsWorkload(batch=2, seq=64, max_segments=8, layout="striped"))


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3)), min_size=1, max_size=4))
def test_cu_seqlens_and_back(spans):
    """Spans → ids → lengths and offsets → spans again, and the sum of lengths is where cu_seqlens ends."""
    seq, places = 36, 4
    ids, starts, start = np.zeros((1, seq), np.int32), [], 0
    for number, (length, gap) in enumerate(spans, 1):
        ids[0, start : start + length] = number
        starts.append(start)
        start += length + gap
    positions = np.array([position(ids[0].tolist())], np.int32)
    inputs = dict(zip(FIELDS, (ids, ids, positions, positions), strict=True))
    w = OffsetsWorkload(seq=seq, max_segments=places)
    for variant in ALL:
        lengths, _, offsets, _ = (part[0] for part in zero_empty(call(variant, w, inputs)))
        cu_seqlens = np.concatenate([[0], np.cumsum(lengths)])
        assert np.diff(cu_seqlens).tolist() == [length for length, _ in spans] + [0] * (places - len(spans))
        assert offsets.tolist() == starts + [-1] * (places + 1 - len(starts))
        again = np.zeros(seq, np.int32)
        for number, (begin, length) in enumerate(zip(starts, np.diff(cu_seqlens), strict=False), 1):
            again[begin : begin + length] = number
        assert again.tolist() == ids[0].tolist()
