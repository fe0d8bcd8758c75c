"""XLA's plan for an implementation on this host, at published shapes: temporary bytes and FLOPs."""

import pytest

from tests.impls.jax_case import planned
from tests.impls.variants import FAMILIES, labelled, parsed

PUBLISHED = {"rows": 1024, "seq": 131072}
ONE_HOT = 1024 * 2048 * 131072  # an element for each row, selected column and column
MIB = 1 << 20


def attended(seq):
    return {"rows": 64, "seq": seq, "topk": 256, "head_dim": 64}


ABOUT = [  # (label, fields, temporary bytes, FLOPs), to a tenth
    (
        "mask/onehot_gemm[width=131072]",
        PUBLISHED,
        4 * ONE_HOT,
        4 * ONE_HOT,
    ),  # computing the mask is counted as well
    ("mask/scatter_sorted", PUBLISHED, 40 * MIB, None),
    ("mask/scatter_sorted", {"batch": 2, "rows": 128, "seq": 1024, "topk": 64}, 0.3125 * MIB, None),
    ("mask/bit_packed[unique=true]", PUBLISHED, 32 * MIB, None),
    ("mask/bit_packed[unique=true]", {"batch": 2, "rows": 128, "seq": 1024, "topk": 64}, 0.25 * MIB, None),
    *(("mask/gather_kv", attended(seq), 64 * 2 * 256 * 64 * 4, None) for seq in (4096, 65536)),
    *(("mask/masked_dense", attended(seq), 2 * 64 * seq * 4, None) for seq in (4096, 65536)),
    ("offsets/mask_quadratic", {"seq": 131072}, 4 * 131072**2, 12 * 131072**2),
    # All but the one-hot are linear in a row's tokens, and independent of the number of segments.
    *(
        (f"offsets/{label}", {"seq": seq, "max_segments": segments}, a_token * seq, flops * seq)
        for seq in (16384, 131072)
        for label, segments, a_token, flops in [
            ("compact_bincount", 16, 41, 188),
            ("compact_bincount", 256, 41, 188),
            ("bincount", 256, 37, 59),
            ("onehot_minmax", 16, 8 * 16 + 14, 256),
            ("onehot_minmax", 256, 8 * 256 + 44, 1697),
            ("segment_min", 256, 36, 98),
        ]
    ),
]
MOST = {  # temporary bytes while broadcast plans 264 GiB
    "scatter": 64 * MIB,
    "scatter_flat": 32 * MIB,
    "threshold_raw": MIB,
    "scatter_sorted": 64 * MIB,
    "broadcast_chunked": (16 + 4) * 1024 * 131072,
    "onehot_gemm": 1024 * (2048 * 4 * (512 + 256) + 131072 * 8),
    "bit_packed": 128 * MIB,
}
pytestmark = pytest.mark.jax


def plan(label, fields):
    """(temporary bytes, bytes of the result, FLOPs)."""
    family, _, name = label.partition("/")
    variant, options = labelled(family, name)
    w = parsed(family, fields)
    program = planned(variant(w, **options), FAMILIES[family].shapes(w))
    memory = program.memory_analysis()
    return memory.temp_size_in_bytes, memory.output_size_in_bytes, program.cost_analysis()["flops"]


@pytest.mark.parametrize(("label", "fields", "temporary", "flops"), ABOUT)
def test_temporaries_and_flops_are_those_of_theory(label, fields, temporary, flops):
    temp, _, counted = plan(label, fields)
    assert temp == pytest.approx(temporary, rel=0.1)
    assert flops is None or counted == pytest.approx(flops, rel=0.02)


@pytest.mark.parametrize("name", MOST)
def test_the_others_need_little_memory_beyond_their_result(name):
    temp, out, _ = plan(f"mask/{name}", PUBLISHED)
    assert temp <= MOST[name]
    if name == "bit_packed":
        assert out == 1024 * 131072 * 4 // 32, "a thirty-second of the dense one"
