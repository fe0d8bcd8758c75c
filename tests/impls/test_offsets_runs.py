"""Every variant on golden vectors, kinds, layouts and runs: right, refused or known to be wrong."""

import inspect
import pkgutil
from dataclasses import replace
from functools import cache
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import impls.offsets
from harness import Unsupported
from harness.catalog.implementation import Implementation
from harness.catalog.known_frameworks import traits_of
from impls.offsets._checks_golden import FIELDS, PLACES, SEQ, VECTORS, answer_of, inputs_of
from impls.offsets._run_starts import boundaries
from impls.offsets.family import FAMILY, OffsetsWorkload, zero_empty
from impls.offsets.fast_causal import fast_causal, more_to_trim
from impls.offsets.mask_blocked import mask_blocked
from impls.offsets.run_length import most_runs, run_length
from impls.offsets.searchsorted import searchsorted
from impls.offsets.torch_unique import torch_unique
from tests.impls.jax_case import jit
from tests.impls.offsets_case import BLIND, KINDS, LAYOUTS, call, judged, lists, reference
from tests.impls.offsets_vectors import golden, numbers, position, row
from tests.impls.variants import OFFSETS as V

pytestmark = [pytest.mark.jax, pytest.mark.torch]

PADDED = (
    *(V.mask_quadratic, V.mask_blocked, V.segment_min, V.torch_unique, V.run_length),
    *(V.compact_bincount, V.bincount, V.onehot_minmax, V.searchsorted),
)  # fast_causal reads unpadded rows
ANY, BOTH = "causal bottom_right padding", "causal bottom_right"


def by_kind(table):
    return {(name, kind): answer for (name, kinds), answer in table.items() for kind in kinds.split()}


# (vector, kinds) → q_seqlens | kv_seqlens | q_offsets | kv_offsets, without the empty places at the end
COUNTED = {
    ("G3", "causal"): "3 4 | 4 10 | 0 4 | 0 6",
    ("G4", BOTH): "4 2 | 2 4 | 0 4 | 0 2",
    ("G5", ANY): "2 2 2 | 2 0 2 | 0 2 4 | 0 2",
    ("G6", BOTH): "2 2 | 2 2 | 0 2 | 0 2",
    ("G10a", BOTH): "2 2 4 | 2 2 4 | 0 2 4 | 0 2 4",
    ("G10b", BOTH): "6 2 | 6 2 | 0 6 | 0 6",
    ("short", BOTH): "1 1 2 | 1 1 2 | 0 1 2 | 0 1 2",
}
# Of any kind it keeps tokens without a partner, and knows no second start and no id beyond max_segments.
SEARCHED = COUNTED | {
    ("G2", ANY): "3 2 | 3 2 | 0 4 | 0 4",
    ("G7", ANY): "| | |",
    ("G8", ANY): "1 1 1 | 1 1 1 | 0 1 2 | 0 1 2",
    ("gaps", ANY): "2 3 3 | 2 3 3 | 0 4 10 | 0 4 10",
}
WRONG = {
    "bincount": COUNTED,
    "compact_bincount": COUNTED,
    "searchsorted": SEARCHED,
    "onehot_minmax": {
        ("G7", "causal"): "| | 0 5 8 |",
        ("G7", "bottom_right"): "| | | 0 5 8",
        ("G8", "causal"): "1 1 1 | 1 1 1 | 0 1 2 3 | 0 1 2",
        ("G8", "bottom_right"): "1 1 1 | 1 1 1 | 0 1 2 | 0 1 2 3",
        ("short", "bottom_right"): "1 1 2 | 0 0 1 | 0 1 2 | 2",
    },
    "run_length": {("gaps", ANY): "2 3 2 | 2 3 2 | 0 2 4 6 | 0 2 4 6"},
}


def spelled(result):
    """Four parts as the tables have them; an empty length is 0."""
    parts = ([*map(int, part)] for part in zero_empty(result))
    kept = []
    for part, empty in zip(parts, (0, 0, -1, -1), strict=True):
        while part and part[-1] == empty:
            part.pop()
        kept.append(" ".join(map(str, part)))
    return tuple(kept)


def answers(variant):
    """Every vector, under every kind of mask."""
    inputs, found = inputs_of([*VECTORS]), {}
    for kind in ANY.split():
        w = OffsetsWorkload(batch=len(VECTORS), seq=SEQ, max_segments=PLACES, kind=kind)
        rows = zip(*map(np.asarray, call(variant, w, inputs)), strict=True)
        found |= {(name, kind): spelled(row) for name, row in zip(VECTORS, rows, strict=True)}
    return found


RIGHT = {(name, kind): spelled(answer_of(name, kind)) for name in VECTORS for kind in ANY.split()}


@pytest.mark.parametrize("variant", PADDED, ids=lambda v: v.name)
def test_variant_gives_the_golden_results_or_its_known_wrong_ones(variant):
    wrong = by_kind(WRONG.get(variant.name, {}))
    known = {at: tuple(part.strip() for part in answer.split("|")) for at, answer in wrong.items()}
    assert answers(variant) == RIGHT | known


@pytest.mark.parametrize("devices", [3, 4])
def test_the_merged_form_fails_on_short_segments_over_four_devices(devices):
    """Segments of devices + 2 tokens dealt out in turn: keys of the last device fall below its fill."""
    ids, positions = np.repeat(np.arange(1, 9), devices + 2), np.tile(np.arange(devices + 2), 8)
    dealt = [part[: len(part) // devices * devices].reshape(-1, devices).T for part in (ids, positions)]
    (ids_q, ids_kv), (pos_q, pos_kv) = (part[-2:, None].astype(np.int32) for part in dealt)
    inputs = {"segment_ids_q": ids_q, "segment_ids_kv": ids_kv, "positions_q": pos_q, "positions_kv": pos_kv}
    w = OffsetsWorkload(seq=ids_q.shape[1], max_segments=8, kind="bottom_right")
    right = call(V.mask_quadratic, w, inputs)
    for variant, agrees in ((V.segment_min, True), (V.onehot_minmax, devices < 4)):
        found = call(variant, w, inputs)
        assert all(np.array_equal(a, b) for a, b in zip(found, right, strict=True)) is agrees


SEEDS = range(3)
W = OffsetsWorkload(batch=2, seq=256, max_segments=16, window=9)

# A mark for each of LAYOUTS: right (.), meant to fail (x), refused (-).
EVERY = dict.fromkeys(KINDS, ".....")
NO_WINDOW = EVERY | {"sliding": "-----"}
COUNTS = {"causal": ".xx.x", "bottom_right": "..x.x", "padding": "..x..", "sliding": ".xx.x"}
MARKS = {
    "mask_quadratic": EVERY,
    "mask_blocked": EVERY,
    "torch_unique": EVERY,
    "run_length": NO_WINDOW,
    "segment_min": NO_WINDOW,
    "onehot_minmax": NO_WINDOW,
    "bincount": COUNTS,
    "compact_bincount": COUNTS,
    "searchsorted": {"causal": ".xxxx", "bottom_right": "..xxx", "padding": "..xx.", "sliding": ".xxxx"},
    "fast_causal": dict.fromkeys(KINDS, "-----") | {"causal": ".xx.x"},
}


def registered():
    """Those that run in this process: kernels have an interpreter's, and test_*_offsets.py."""
    modules = [
        import_module(f"impls.offsets.{info.name}")
        for info in pkgutil.iter_modules(impls.offsets.__path__)
        if not info.name.startswith("_")
    ]
    found = {
        thing for module in modules for thing in vars(module).values() if isinstance(thing, Implementation)
    }
    here = [variant for variant in found if not traits_of(variant.framework).interpreted_on]
    return {variant.name: variant for variant in here if variant.semantics == "exact"}


VARIANTS = registered()


@cache
def drawn(layout, seed):
    return FAMILY.inputs(replace(W, layout=layout), np.random.default_rng([seed, 7]))


def answer(name, kind, inputs):
    return call(VARIANTS[name], replace(W, kind=kind), inputs)


def mark(name, kind, layout, seed):
    """What becomes of a variant there, as MARKS has it."""
    try:
        VARIANTS[name](replace(W, kind=kind, layout=layout))
    except Unsupported:
        return "-"
    result = answer(name, kind, drawn(layout, seed))
    assert [part.shape for part in result] == [(2, 16), (2, 16), (2, 17), (2, 17)]
    assert {part.dtype for part in result} == {np.dtype(np.int32)}
    return "." if judged(replace(W, kind=kind), drawn(layout, seed), result).passed else "x"


def test_every_registered_variant_has_its_marks():
    assert VARIANTS.keys() == MARKS.keys()


@pytest.mark.parametrize("name", MARKS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_and_layout_is_right_refused_or_meant_to_fail(name, kind):
    for seed in SEEDS:
        assert "".join(mark(name, kind, layout, seed) for layout in LAYOUTS) == MARKS[name][kind]
    if MARKS[name][kind] == "-----":
        with pytest.raises(Unsupported, match=f"{kind}.*; use"):
            VARIANTS[name](replace(W, kind=kind))
        return
    expect = VARIANTS[name].expect
    meant = [bool(expect and expect.when(replace(W, kind=kind, layout=layout))) for layout in LAYOUTS]
    assert meant == [one == "x" for one in MARKS[name][kind]]


@pytest.mark.parametrize("name", sorted(BLIND))
def test_what_does_not_read_positions_takes_two_inputs(name):
    """Why one compiled program serves every kind here."""
    for kind in KINDS:
        parameters = inspect.signature(VARIANTS[name](replace(W, kind=kind))).parameters
        assert set(parameters) == {"segment_ids_q", "segment_ids_kv"}


RUNS = (searchsorted, run_length, fast_causal, mask_blocked, torch_unique)
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
    for variant in RUNS:
        lengths, _, offsets, _ = (part[0] for part in zero_empty(call(variant, w, inputs)))
        cu_seqlens = np.concatenate([[0], np.cumsum(lengths)])
        assert np.diff(cu_seqlens).tolist() == [length for length, _ in spans] + [0] * (places - len(spans))
        assert offsets.tolist() == starts + [-1] * (places + 1 - len(starts))
        again = np.zeros(seq, np.int32)
        for number, (begin, length) in enumerate(zip(starts, np.diff(cu_seqlens), strict=False), 1):
            again[begin : begin + length] = number
        assert again.tolist() == ids[0].tolist()
