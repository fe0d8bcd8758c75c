"""Every variant under every kind: it fails the checks that it is declared to fail, and no other."""

from dataclasses import replace
from functools import cache

import pytest

from harness import Unsupported
from impls.offsets.bincount import bincount
from impls.offsets.compact_bincount import compact_bincount
from impls.offsets.family import FAMILY, OffsetsWorkload
from impls.offsets.fast_causal import fast_causal
from impls.offsets.mask_blocked import mask_blocked
from impls.offsets.mask_quadratic import mask_quadratic
from impls.offsets.onehot_minmax import onehot_minmax
from impls.offsets.run_length import run_length
from impls.offsets.searchsorted import searchsorted
from impls.offsets.segment_min import segment_min
from impls.offsets.torch_unique import torch_unique
from tests.impls.jax_case import program, run
from tests.impls.offsets_case import KINDS, alike
from tests.impls.trials import failures, trial_of, verdicts

GOOD = (mask_quadratic, mask_blocked, segment_min, torch_unique)
LIMITED = (run_length,)  # right on every seeded row
KNOWN_WRONG = (*LIMITED, bincount, compact_bincount, onehot_minmax, searchsorted, fast_causal)
ALL = (*GOOD, *KNOWN_WRONG)
OTHER_KINDS = [pytest.param(kind, marks=pytest.mark.full) for kind in KINDS[1:]]
SMALL = OffsetsWorkload(seq=16, max_segments=3)

pytestmark = [pytest.mark.jax, pytest.mark.torch]


@cache
def examined(variant, w):
    """The verdicts of the checks that concern the variant, by name."""

    made = trial_of(FAMILY, w, lambda workload: program(variant, alike(variant, workload)), run)
    return verdicts(FAMILY, variant.semantics, made)


@pytest.mark.parametrize("variant", ALL, ids=lambda variant: variant.name)
@pytest.mark.parametrize("kind", ["causal", *OTHER_KINDS])
def test_a_variant_fails_the_checks_that_it_declares_and_no_other(variant, kind):
    w = replace(SMALL, kind=kind)
    try:
        variant(w)
    except Unsupported:
        assert kind == "sliding" or variant is fast_causal
        return
    said = examined(variant, w)
    assert len(said) == len(FAMILY.checks) - (kind != "bottom_right")
    failed = failures(said)
    assert failed.keys() == set(variant.fails(w, {}))
    assert (variant in KNOWN_WRONG) == bool(failed) or (variant is onehot_minmax and kind == "padding")
    assert said["empty_length_spelling"].figures["empty"] == (-1 if variant is compact_bincount else 0)


DIFFER = {
    (bincount, "causal"): "G3, G4, G5, G6, G10a, G10b differ; of G3 kv_seqlens are [4, 10, 0], not [3, 4, 0]",
    (bincount, "bottom_right"): "G4, G5, G6, G10a, G10b differ; of G4 q_seqlens are [4, 2, 0], not [2, 2, 0]",
    (bincount, "padding"): "G5 differ; of G5 q_seqlens are [2, 2, 2], not [2, 0, 2]",
    (searchsorted, "padding"): "G2, G5, G7, G8 differ; of G2 q_offsets are [0, 4, -1, -1], not [0, 3, 4, -1]",
    (onehot_minmax, "causal"): "G7, G8 differ; of G7 kv_offsets are [-1, -1, -1, -1], not [0, 5, 8, -1]",
    (onehot_minmax, "bottom_right"): "G7, G8 differ; of G7 q_offsets are [-1, -1, -1, -1], not [0, 5, 8, -1]",
    (fast_causal, "causal"): "G3, G4, G5 differ; of G3 kv_seqlens are [3, 10, 0], not [3, 4, 0]",
}


@pytest.mark.parametrize(("variant", "kind"), DIFFER, ids=lambda part: getattr(part, "name", part))
def test_which_golden_vectors_differ_and_how(variant, kind):
    """G7 and G8 are one-sided in the merged form: keys under causal, queries under bottom_right."""
    assert examined(variant, replace(SMALL, kind=kind))["golden"].reason == DIFFER[variant, kind]


def test_the_short_cut_gives_another_row_its_neighbour_s_lengths():
    reason = examined(fast_causal, SMALL)["batch_equals_per_row"].reason
    assert "of G10b in a batch kv_seqlens are [6, 1, 0], not [5, 1, 0] as alone" in reason


@pytest.mark.parametrize("kind", ["causal", *OTHER_KINDS[:2]])
def test_of_too_many_runs_the_last_are_lost(kind):
    verdict = examined(run_length, replace(SMALL, kind=kind))["many_gaps"]
    assert verdict.reason == "q_seqlens are [2, 3, 2], not [2, 3, 3]"


def test_no_declared_failure_names_a_check_that_is_not_there():
    names = {check.name for check in FAMILY.checks}
    for variant in ALL:
        for kind in KINDS:
            declared = variant.fails(replace(SMALL, kind=kind), {})
            assert set(declared) <= names
            assert all(declared.values())
