"""Every variant under every kind: it fails the checks that it is declared to fail, and no other."""

from dataclasses import replace
from functools import cache

import pytest

from harness import Unsupported
from impls.offsets.family import FAMILY, OffsetsWorkload
from tests.impls.jax_case import program, run
from tests.impls.offsets_case import KINDS, alike
from tests.impls.trials import failures, trial_of, verdicts
from tests.impls.variants import OFFSETS as V

GOOD = (V.mask_quadratic, V.mask_blocked, V.segment_min, V.torch_unique)
LIMITED = (V.run_length,)  # right on every seeded row
KNOWN_WRONG = (*LIMITED, V.bincount, V.compact_bincount, V.onehot_minmax, V.searchsorted, V.fast_causal)
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
        assert kind == "sliding" or variant is V.fast_causal
        return
    said = examined(variant, w)
    assert len(said) == len(FAMILY.checks) - (kind != "bottom_right")
    failed = failures(said)
    assert failed.keys() == set(variant.fails(w, {}))
    assert (variant in KNOWN_WRONG) == bool(failed) or (variant is V.onehot_minmax and kind == "padding")
    assert said["empty_length_spelling"].figures["empty"] == (-1 if variant is V.compact_bincount else 0)


def test_the_short_cut_gives_another_row_its_neighbour_s_lengths():
    reason = examined(V.fast_causal, SMALL)["batch_equals_per_row"].reason
    assert "of G10b in a batch kv_seqlens are [6, 1, 0], not [5, 1, 0] as alone" in reason


@pytest.mark.parametrize("kind", ["causal", *OTHER_KINDS[:2]])
def test_of_too_many_runs_the_last_are_lost(kind):
    verdict = examined(V.run_length, replace(SMALL, kind=kind))["many_gaps"]
    assert verdict.reason == "q_seqlens are [2, 3, 2], not [2, 3, 3]"


def test_no_declared_failure_names_a_check_that_is_not_there():
    names = {check.name for check in FAMILY.checks}
    for variant in ALL:
        for kind in KINDS:
            declared = variant.fails(replace(SMALL, kind=kind), {})
            assert set(declared) <= names
            assert all(declared.values())
