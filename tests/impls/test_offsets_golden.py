"""The golden vectors of the offsets family: what is right, and which variant differs how."""

from functools import cache

import numpy as np
import pytest

from impls.offsets.bincount import bincount
from impls.offsets.compact_bincount import compact_bincount
from impls.offsets.family import OffsetsWorkload, zero_empty
from impls.offsets.mask_blocked import mask_blocked
from impls.offsets.mask_quadratic import mask_quadratic
from impls.offsets.onehot_minmax import onehot_minmax
from impls.offsets.run_length import run_length
from impls.offsets.searchsorted import searchsorted
from impls.offsets.segment_min import segment_min
from impls.offsets.torch_unique import torch_unique
from tests.impls.offsets_case import KINDS, call, reference
from tests.impls.offsets_vectors import FIELDS, VECTORS, padded

WITHOUT_RUNS = (mask_quadratic, compact_bincount, bincount, onehot_minmax, segment_min)
ALL = (*WITHOUT_RUNS, mask_blocked, torch_unique, run_length, searchsorted)  # fast_causal reads unpadded rows
SEQ = 16
pytestmark = [pytest.mark.jax, pytest.mark.torch]
GOLDEN = {name: (places, padded(inputs, SEQ)) for name, (places, inputs) in VECTORS.items()}

EVERY, BOTH = "causal bottom_right padding", "causal bottom_right"


def by_kind(table):
    return {(name, kind): answer for (name, kinds), answer in table.items() for kind in kinds.split()}


# (vector, kinds) → q_seqlens, kv_seqlens, q_offsets, kv_offsets
RIGHT = by_kind(
    {
        ("G1", EVERY): ("3 4 0", "3 4 0", "0 4 -1 -1", "0 4 -1 -1"),
        # A segment with a gap begins twice, in every form upstream ever had but the first commit of #2522.
        ("G2", EVERY): ("3 2 0", "3 2 0", "0 3 4 -1", "0 3 4 -1"),
        ("G3", "causal"): ("3 4", "3 4", "0 4 -1", "0 6 -1"),
        ("G3", "bottom_right padding"): ("3 4", "4 10", "0 4 -1", "0 6 -1"),
        ("G4", "causal"): ("4 2", "2 2", "0 4 -1", "0 2 -1"),
        ("G4", "bottom_right"): ("2 2", "2 4", "2 4 -1", "0 2 -1"),
        ("G4", "padding"): ("4 2", "2 4", "0 4 -1", "0 2 -1"),
        ("G5", EVERY): ("2 0 2", "2 0 2", "0 4 -1 -1", "0 2 -1 -1"),
        ("G6", BOTH): ("1 1", "1 1", "1 3 -1", "0 2 -1"),
        ("G6", "padding"): ("2 2", "2 2", "0 2 -1", "0 2 -1"),
        ("G7", EVERY): ("0 0 0", "0 0 0", "0 5 8 -1", "0 5 8 -1"),
        ("G8", EVERY): ("1 1", "1 1", "0 1 2", "0 1 2"),
        ("G9", EVERY): ("0 0 0", "0 0 0", "-1 -1 -1 -1", "-1 -1 -1 -1"),
        ("G10a", BOTH): ("1 1 3", "1 1 3", "1 3 5 -1", "0 2 4 -1"),
        ("G10a", "padding"): ("2 2 4", "2 2 4", "0 2 4 -1", "0 2 4 -1"),
        ("G10b", BOTH): ("5 1 0", "5 1 0", "1 7 -1 -1", "0 6 -1 -1"),
        ("G10b", "padding"): ("6 2 0", "6 2 0", "0 6 -1 -1", "0 6 -1 -1"),
        ("short_stripe", BOTH): ("0 0", "0 0", "-1 -1 -1", "-1 -1 -1"),
        ("short_stripe", "padding"): ("1 1", "1 1", "0 1 -1", "0 1 -1"),
    }
)
COUNTED = by_kind(
    {
        ("G3", "causal"): ("3 4", "4 10", "0 4 -1", "0 6 -1"),
        ("G4", BOTH): ("4 2", "2 4", "0 4 -1", "0 2 -1"),
        ("G5", EVERY): ("2 2 2", "2 0 2", "0 2 4 -1", "0 2 -1 -1"),
        ("G6", BOTH): ("2 2", "2 2", "0 2 -1", "0 2 -1"),
        ("G10a", BOTH): ("2 2 4", "2 2 4", "0 2 4 -1", "0 2 4 -1"),
        ("G10b", BOTH): ("6 2 0", "6 2 0", "0 6 -1 -1", "0 6 -1 -1"),
        ("short_stripe", BOTH): ("1 1", "1 1", "0 1 -1", "0 1 -1"),
    }
)
# Of any kind it keeps tokens without a partner, and knows no second start and no id beyond max_segments.
SEARCHED = {
    "G2": ("3 2 0", "3 2 0", "0 4 -1 -1", "0 4 -1 -1"),
    "G3": ("3 4", "4 10", "0 4 -1", "0 6 -1"),
    "G4": ("4 2", "2 4", "0 4 -1", "0 2 -1"),
    "G5": ("2 2 2", "2 0 2", "0 2 4 -1", "0 2 -1 -1"),
    "G6": ("2 2", "2 2", "0 2 -1", "0 2 -1"),
    "G7": ("0 0 0", "0 0 0", "-1 -1 -1 -1", "-1 -1 -1 -1"),
    "G8": ("1 1", "1 1", "0 1 -1", "0 1 -1"),
    "G10a": ("2 2 4", "2 2 4", "0 2 4 -1", "0 2 4 -1"),
    "G10b": ("6 2 0", "6 2 0", "0 6 -1 -1", "0 6 -1 -1"),
    "short_stripe": ("1 1", "1 1", "0 1 -1", "0 1 -1"),
}
WRONG = {
    "bincount": COUNTED,
    "compact_bincount": COUNTED,
    "searchsorted": {(name, kind): answer for name, answer in SEARCHED.items() for kind in KINDS[:3]},
    "onehot_minmax": {
        ("G7", "causal"): ("0 0 0", "0 0 0", "0 5 8 -1", "-1 -1 -1 -1"),
        ("G7", "bottom_right"): ("0 0 0", "0 0 0", "-1 -1 -1 -1", "0 5 8 -1"),
        ("G8", "causal"): ("1 1", "1 1", "0 1 2", "0 1 -1"),
        ("G8", "bottom_right"): ("1 1", "1 1", "0 1 -1", "0 1 2"),
        ("short_stripe", "bottom_right"): ("1 1", "0 0", "0 1 -1", "-1 -1 -1"),
    },
}


def together(places):
    """The vectors with that many places, by name, and stacked as one batch."""
    chosen = {name: inputs for name, (count, inputs) in GOLDEN.items() if count == places}
    return list(chosen), {part: np.concatenate([row[part] for row in chosen.values()]) for part in FIELDS}


@cache
def results(variant, places, kind):
    """Of every vector with that many places: the variant's four results, or the reference's for None."""
    names, inputs = together(places)
    w = OffsetsWorkload(batch=len(names), seq=SEQ, max_segments=places, kind=kind)
    found = reference(w, inputs) if variant is None else call(variant, w, inputs)
    return {name: [part[row].tolist() for part in found] for row, name in enumerate(names)}


def answers(variant):
    """Of every vector under every kind, in the spelling of RIGHT; an empty length is 0."""
    found = {}
    for name, kind in RIGHT:
        result = zero_empty(results(variant, GOLDEN[name][0], kind)[name])
        found[name, kind] = tuple(" ".join(map(str, part)) for part in result)
    return found


def test_the_definition_gives_the_golden_results():
    assert answers(None) == RIGHT


@pytest.mark.parametrize("variant", ALL, ids=lambda v: v.name)
def test_variant_gives_the_golden_results_or_its_known_wrong_ones(variant):
    assert answers(variant) == RIGHT | WRONG.get(variant.name, {})


def test_only_compact_bincount_marks_an_empty_length_with_minus_one():
    lengths = {variant.name: results(variant, 3, "causal")["G1"][0] for variant in ALL}
    assert lengths.pop("compact_bincount") == [3, 4, -1]
    assert all(length == [3, 4, 0] for length in lengths.values())


@pytest.mark.parametrize("devices", [3, 4])
def test_the_merged_form_fails_on_short_segments_over_four_devices(devices):
    """Segments of devices + 2 tokens dealt out in turn: keys of the last device fall below its fill."""
    ids, positions = np.repeat(np.arange(1, 9), devices + 2), np.tile(np.arange(devices + 2), 8)
    dealt = [part[: len(part) // devices * devices].reshape(-1, devices).T for part in (ids, positions)]
    (ids_q, ids_kv), (pos_q, pos_kv) = (part[-2:, None].astype(np.int32) for part in dealt)
    inputs = {"segment_ids_q": ids_q, "segment_ids_kv": ids_kv, "positions_q": pos_q, "positions_kv": pos_kv}
    w = OffsetsWorkload(seq=ids_q.shape[1], max_segments=8, kind="bottom_right")
    right = call(mask_quadratic, w, inputs)
    for variant, agrees in ((segment_min, True), (onehot_minmax, devices < 4)):
        found = call(variant, w, inputs)
        assert all(np.array_equal(a, b) for a, b in zip(found, right, strict=True)) is agrees
