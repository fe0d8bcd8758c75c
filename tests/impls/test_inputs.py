"""Every family's inputs: as their shapes say, the same for one seed, and refused where they make no sense."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from harness import SCORE_DISTRIBUTIONS
from harness.catalog.arrays import walk
from harness.core.workload import fields_of, shown_fields
from impls.attention.family import FAMILY as ATTENTION
from impls.attention.family import AttentionWorkload
from impls.attention.workload import DISTRIBUTIONS as ATTENTION_DISTRIBUTIONS
from impls.mask.family import FAMILY as MASK
from impls.mask.family import MaskWorkload
from impls.mla.family import FAMILY as MLA
from impls.mla.family import MlaWorkload
from impls.mla.workload import DISTRIBUTIONS as MLA_DISTRIBUTIONS
from impls.offsets.family import FAMILY as OFFSETS
from impls.offsets.family import OffsetsWorkload
from impls.offsets.workload import DISTRIBUTIONS as OFFSETS_DISTRIBUTIONS
from impls.topk.family import DISTRIBUTIONS, TopkWorkload
from impls.topk.family import FAMILY as TOPK
from tests.impls.torch_case import flat

FAMILIES = {family.workload: family for family in (ATTENTION, MASK, MLA, OFFSETS, TOPK)}
DTYPES = ("f64", "f32", "bf16", "f16")
ROW = AttentionWorkload(seq=640, heads=4, kv_heads=2, head_dim=16)
LISTS = AttentionWorkload(stage="block_lists", seq=2048, batch=2, heads=3, kv_heads=1, block=64, selected=5)
INDEXER = TopkWorkload(stage="indexer", batch=2, rows=5, seq=300, topk=20, heads=8, head_dim=16)

WORKLOADS = [
    ROW,
    replace(ROW, gated=False),
    replace(ROW, batch=2, dtype="bf16"),
    replace(ROW, varlen=True),
    replace(ROW, varlen=True, seq=4),
    replace(ROW, dtype="f64"),
    replace(ROW, varlen=True, seq=2048, lengths="pretrain", packing="best_fit_decreasing"),
    replace(ROW, varlen=True, lengths="single"),
    LISTS,
    *(MaskWorkload(batch=b, rows=5, seq=96, topk=7, dtype=d) for b in (1, 3) for d in ("f32", "bf16", "f64")),
    MaskWorkload(batch=2, rows=5, seq=96, topk=7, head_dim=3, dtype="bf16"),
    MlaWorkload(seq=9, batch=2, dtype="bf16"),
    MlaWorkload(seq=9, batch=2, phase="decode", dtype="f64", weights="fp8_block"),
    MlaWorkload(seq=9, batch=2, phase="decode", steps=3, rope_scaling="yarn"),
    *(
        OffsetsWorkload(batch=b, seq=200, max_segments=6, layout=layout)
        for b in (1, 3)
        for layout in ("self", "cross", "absent", "intra_padding", "striped")
    ),
    OffsetsWorkload(batch=2, seq=4096, max_segments=64, lengths="pretrain"),
    OffsetsWorkload(batch=2, seq=100, seq_kv=200, max_segments=6, layout="cross", head_dim=3, dtype="bf16"),
    *(
        TopkWorkload(batch=2, rows=3, seq=96, topk=7, dtype=dtype, distribution=distribution)
        for dtype in DTYPES
        for distribution in DISTRIBUTIONS
    ),
    *(replace(MaskWorkload(rows=5, seq=96, topk=7), distribution=name) for name in SCORE_DISTRIBUTIONS),
    *(
        replace(w, distribution=name, dtype=dtype)
        for w in (
            ROW,
            replace(ROW, varlen=True),
            replace(ROW, stage="decode"),
            replace(ROW, stage="given_blocks"),
        )
        for name in ATTENTION_DISTRIBUTIONS
        for dtype in ("f32", "bf16")
    ),
    *(
        MlaWorkload(seq=9, phase=phase, distribution=name, weights=weights)
        for phase in ("prefill", "decode")
        for name in MLA_DISTRIBUTIONS
        for weights in ("plain", "fp8_block")
    ),
    *(
        OffsetsWorkload(seq=200, max_segments=6, layout=layout, distribution=name)
        for layout in ("self", "cross", "absent", "intra_padding", "striped")
        for name in OFFSETS_DISTRIBUTIONS
    ),
    *(replace(INDEXER, dtype=dtype, stage=stage) for dtype in DTYPES for stage in ("indexer", "attention")),
]


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("w", WORKLOADS, ids=str)
def test_inputs_are_as_their_shapes_say_and_follow_the_seed(w):
    family = FAMILIES[type(w)]
    first, again, other = (family.inputs(w, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert flat(family.shapes(w)) == flat(first)
    for (_, array), (_, same) in zip(walk(first), walk(again), strict=True):
        assert np.array_equal(array, same)
        assert array.dtype.kind in "iuc" or not np.isnan(array.astype(np.float64)).any()
    pairs = zip(walk(first), walk(other), strict=True)
    assert any(not np.array_equal(array, another) for (_, array), (_, another) in pairs)


SHOWN = {
    AttentionWorkload: "batch block causal dtype gated head_dim heads kv_heads selected seq varlen window",
    MaskWorkload: "batch dtype rows seq topk",
    MlaWorkload: "batch causal config dtype phase seq",
    OffsetsWorkload: "batch kind layout max_segments seq",
    TopkWorkload: "batch distribution dtype recall rows seq topk",
}


@pytest.mark.parametrize(
    ("workload", "names"), SHOWN.items(), ids=lambda given: getattr(given, "__name__", "")
)
def test_only_seq_must_be_given_and_ids_show_what_they_always_showed(workload, names):
    """Fields that joined later show only where they differ: ids of stored records stay what they were."""
    assert sorted(shown_fields(fields_of(workload), asdict(workload(seq=4096)))) == names.split()


@pytest.mark.parametrize("packing", ["first_fit", "best_fit_decreasing"])
@pytest.mark.parametrize("seed", range(8))
def test_packed_documents_are_whole_and_in_a_drawn_order(packing, seed):
    """At 128Ki: what both families read are the same documents, each once, with the padding behind them."""
    seq, known = 131072, {"lengths": "pretrain", "packing": packing, "packing_seed": seed}
    row = OffsetsWorkload(seq=seq, max_segments=2048, **known)
    orders = []
    for order in range(3):
        ids = FAMILIES[OffsetsWorkload].inputs(row, np.random.default_rng(order))["segment_ids_q"][0]
        firsts = np.flatnonzero(np.diff(ids, prepend=-1))
        spans = np.diff(firsts, append=seq)
        found = [int(span) for span, first in zip(spans, firsts, strict=True) if ids[first]]
        assert sorted(found) == sorted(row.packed[0])
        assert list(ids[ids != 0]) == sorted(ids[ids != 0])
        assert not ids[sum(found) :].any()
        orders.append(found)
    assert len(row.packed[0]) < 3 or len({tuple(found) for found in orders}) > 1
    w = AttentionWorkload(seq=seq, varlen=True, heads=1, kv_heads=1, head_dim=1, gated=False, **known)
    cuts = FAMILIES[AttentionWorkload].inputs(w, np.random.default_rng(0))["cu_seqlens"]
    lengths = np.diff(cuts)
    assert (cuts[0], cuts[-1]) == (0, seq)
    assert lengths.min() > 0
    assert sorted(lengths[: len(row.packed[0])]) == sorted(row.packed[0])
