"""Options of implementations: a size of nothing is refused, with the size and what to use instead."""

import pytest

from harness import Unsupported
from harness.catalog import discovery
from impls.attention.workload import AttentionWorkload
from impls.mask.workload import MaskWorkload
from impls.mla.workload import MlaWorkload
from impls.offsets.workload import OffsetsWorkload
from impls.topk.workload import TopkWorkload
from tests.impls import variants

WORKLOADS = {
    "attention": AttentionWorkload(seq=4096),
    "given_blocks": AttentionWorkload(seq=4096, stage="given_blocks"),
    "mask": MaskWorkload(seq=4096),
    "mla": MlaWorkload(seq=4096),
    "offsets": OffsetsWorkload(seq=4096, head_dim=8),
    "topk": TopkWorkload(seq=4096, topk=16),
}
SIZES = [
    (info, option.name)
    for info in discovery.builtin().implementations.values()
    for option in info.options
    if option.kind == "int"
]


@pytest.mark.jax
@pytest.mark.torch
@pytest.mark.parametrize(("info", "option"), SIZES, ids=[f"{info.id}-{option}" for info, option in SIZES])
def test_a_size_of_nothing_is_refused(info, option):
    family, _, name = info.id.partition("/")
    variant = getattr(getattr(variants, family.upper()), name)
    with pytest.raises(Unsupported, match=r"\b0\b.*; use"):
        variant(WORKLOADS.get(info.semantics, WORKLOADS[family]), **{option: 0})
