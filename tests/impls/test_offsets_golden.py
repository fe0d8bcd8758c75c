"""The golden vectors of the family's checks: which variant answers otherwise, and how."""

import numpy as np
import pytest

from impls.offsets._checks_golden import PLACES, SEQ, VECTORS, answer_of, inputs_of
from impls.offsets.family import OffsetsWorkload, zero_empty
from tests.impls.offsets_case import call
from tests.impls.variants import OFFSETS as V

ALL = (
    *(V.mask_quadratic, V.mask_blocked, V.segment_min, V.torch_unique, V.run_length),
    *(V.compact_bincount, V.bincount, V.onehot_minmax, V.searchsorted),
)  # fast_causal reads unpadded rows: test_offsets_runs.py
pytestmark = [pytest.mark.jax, pytest.mark.torch]
EVERY, BOTH = "causal bottom_right padding", "causal bottom_right"


def by_kind(table):
    return {(name, kind): answer for (name, kinds), answer in table.items() for kind in kinds.split()}


# (vector, kinds) → q_seqlens | kv_seqlens | q_offsets | kv_offsets, without the empty places at the end
COUNTED = {
    ("G3", "causal"): "3 4 | 4 10 | 0 4 | 0 6",
    ("G4", BOTH): "4 2 | 2 4 | 0 4 | 0 2",
    ("G5", EVERY): "2 2 2 | 2 0 2 | 0 2 4 | 0 2",
    ("G6", BOTH): "2 2 | 2 2 | 0 2 | 0 2",
    ("G10a", BOTH): "2 2 4 | 2 2 4 | 0 2 4 | 0 2 4",
    ("G10b", BOTH): "6 2 | 6 2 | 0 6 | 0 6",
    ("short", BOTH): "1 1 2 | 1 1 2 | 0 1 2 | 0 1 2",
}
# Of any kind it keeps tokens without a partner, and knows no second start and no id beyond max_segments.
SEARCHED = COUNTED | {
    ("G2", EVERY): "3 2 | 3 2 | 0 4 | 0 4",
    ("G7", EVERY): "| | |",
    ("G8", EVERY): "1 1 1 | 1 1 1 | 0 1 2 | 0 1 2",
    ("gaps", EVERY): "2 3 3 | 2 3 3 | 0 4 10 | 0 4 10",
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
    "run_length": {("gaps", EVERY): "2 3 2 | 2 3 2 | 0 2 4 6 | 0 2 4 6"},
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
    """Of every vector under every kind."""
    inputs, found = inputs_of([*VECTORS]), {}
    for kind in EVERY.split():
        w = OffsetsWorkload(batch=len(VECTORS), seq=SEQ, max_segments=PLACES, kind=kind)
        rows = zip(*map(np.asarray, call(variant, w, inputs)), strict=True)
        found |= {(name, kind): spelled(row) for name, row in zip(VECTORS, rows, strict=True)}
    return found


RIGHT = {(name, kind): spelled(answer_of(name, kind)) for name in VECTORS for kind in EVERY.split()}


@pytest.mark.parametrize("variant", ALL, ids=lambda v: v.name)
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
