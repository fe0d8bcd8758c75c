"""Every check has a name, a source and a failing example; every contract detects one wrong element."""

import re

import numpy as np
import pytest

from harness import Evidence
from impls.attention.family import FAMILY as ATTENTION
from impls.attention.family import AttentionWorkload
from impls.attention.workload import STAGES
from impls.mask.family import FAMILY as MASK
from impls.mla.family import FAMILY as MLA
from impls.mla.family import MlaWorkload
from impls.offsets.family import FAMILY as OFFSETS
from impls.topk.family import FAMILY as TOPK
from tests.impls import (
    test_attention_checks,
    test_mask_checks,
    test_mla_checks,
    test_offsets_checks,
    test_topk_checks,
)
from tests.impls.judgements import assert_failed
from tests.impls.torch_case import run

FAMILIES = [
    (ATTENTION, test_attention_checks.BROKEN, r"\)$"),
    (MASK, test_mask_checks.BROKEN, r"\)$"),
    (MLA, test_mla_checks.BROKEN, r"\(DeepSeek-V3 #684\)$"),
    (OFFSETS, test_offsets_checks.BROKEN, r"\([^(]*#[^(]*$"),
    (TOPK, test_topk_checks.BROKEN, r"\)$"),
]
# these have failing examples: right implementations at the points of points.yaml, and printed lines
SHOWN_ELSEWHERE = {"fallback_is_naive", "dtypes"}


@pytest.mark.parametrize(
    ("family", "broken", "source"), FAMILIES, ids=lambda given: getattr(given, "name", "")
)
def test_every_check_has_a_source_and_one_that_decides_a_broken_answer(family, broken, source):
    names = [check.name for check in family.checks]
    assert len(set(names)) == len(names)
    decided = {check.name for check in family.checks if check.decides}
    assert {name for name, *_ in broken} == decided - SHOWN_ELSEWHERE
    for check in family.checks:
        assert set(check.semantics) <= set(family.semantics), check.name
        assert re.search(source, check.objection), check.name


W = AttentionWorkload(seq=640, heads=4, kv_heads=2, head_dim=16, block=16, selected=4, window=70)
OTHERS = {"dsa", "nsa_paper_decode", *STAGES}  # checks with their own inputs
CASES = [
    *((ATTENTION, name, W) for name in ATTENTION.semantics if name not in OTHERS),
    (MLA, "dense", MlaWorkload(seq=60)),
]


@pytest.mark.torch
@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(("family", "name", "w"), CASES, ids=[name for _, name, _ in CASES])
def test_one_wrong_element_is_seen_unless_rounding_decides_its_row(family, name, w):
    meaning, inputs = family.semantics[name], family.inputs(w, np.random.default_rng(0))
    expected = run(meaning.reference(w, None), inputs, wide=True)
    row = (0, 40, 1)[: expected.ndim - 1]
    wrong, marked = expected.copy(), np.zeros(expected.shape[:-1], bool)
    wrong[*row, 3] += 0.5 * np.sqrt(np.mean(wrong[row] ** 2))
    marked[row] = True
    for contract in (meaning.contract, meaning.gradient):
        assert contract.judge(Evidence(w, inputs, expected, expected)).passed
        judgement = assert_failed(contract.judge(Evidence(w, inputs, wrong, expected)))
        assert judgement.figures["largest_error_of_allowed"] > 100
    assert meaning.contract.judge(Evidence(w, inputs, wrong, expected, None, marked)).passed
