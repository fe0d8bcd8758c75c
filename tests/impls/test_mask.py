"""The mask family: its inputs, every variant against its reference, and what XLA plans for it."""

import numpy as np
import pytest

from harness import cast
from impls.mask.family import FAMILY, MaskWorkload
from impls.mask.reference import closed_value
from tests.impls.jax_case import planned
from tests.impls.mask_case import drawn, reference
from tests.impls.variants import MASK as V

PUBLISHED = MaskWorkload(rows=1024, seq=131072)


@pytest.mark.jax
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
def test_inputs_are_the_selection_of_lax_top_k(dtype):
    import jax

    w = MaskWorkload(batch=2, rows=4, seq=4096, topk=300, dtype=dtype)
    inputs = drawn(w, 3)
    with jax.enable_x64(dtype == "f64"):
        values, indices = jax.lax.top_k(inputs["scores"], w.topk)
        assert np.array_equal(inputs["topk_indices"], np.asarray(indices))
        assert np.array_equal(inputs["topk_values"], np.asarray(values))


@pytest.mark.parametrize("semantics", FAMILY.semantics)
def test_reference_on_some_rows_is_part_of_the_whole(semantics):
    again = semantics == "masked_again"
    w = MaskWorkload(batch=2, rows=6, seq=300, topk=9, head_dim=5, dtype="bf16", causal=again)
    inputs, rows = drawn(w), np.array([0, 4, 5])
    whole, part = (reference(semantics, w, inputs, chosen) for chosen in (None, rows))
    pairs = [(part[n], whole[n]) for n in whole] if semantics == "blocks" else [(part, whole)]
    for got, want in pairs:
        assert np.array_equal(got, want[:, rows])
        assert want.shape[1] == FAMILY.rows(w)


@pytest.mark.parametrize(
    ("dtype", "value"), [("f32", -2.3819764e38), ("bf16", -2.37932e38), ("f64", -2.3819763e38)]
)
def test_closed_value(dtype, value):
    assert float(closed_value(dtype)) == pytest.approx(value, rel=1e-6)
    assert closed_value(dtype) == cast(np.float64(-0.7) * np.finfo(np.float32).max, dtype)


def test_cost_holds_the_published_figures():
    w = MaskWorkload(rows=1024, seq=131072)
    assert FAMILY.cost(w).bytes == 1024 * (2048 * 4 + 131072 * 4)
    assert FAMILY.cost(w).dense_flops == 2 * 274_877_906_944


@pytest.mark.jax
def test_broadcast_is_planned_with_every_comparison_in_memory():
    program = planned(V.broadcast(PUBLISHED), FAMILY.shapes(PUBLISHED))
    compared = 1024 * 2048 * 131072
    assert program.memory_analysis().temp_size_in_bytes >= compared
    assert program.cost_analysis()["flops"] == pytest.approx(2 * compared, rel=0.01)


@pytest.mark.jax
@pytest.mark.parametrize(
    ("variant", "most"),
    [
        (V.scatter, 2**26),
        (V.scatter_flat, 2**25),
        (V.threshold_raw, 2**20),
        (V.scatter_sorted, 2**26),
        (V.broadcast_chunked, (16 + 4) * 1024 * 131072),
        (V.onehot_gemm, 1024 * (2048 * 4 * (512 + 256) + 131072 * 8)),
        (V.bit_packed, 2**27),
    ],
    ids=lambda part: getattr(part, "name", None),
)
def test_the_others_need_little_beside_their_result(variant, most):
    """Where broadcast plans 264 GiB; a packed mask is a thirty-second of the dense one."""
    memory = planned(variant(PUBLISHED), FAMILY.shapes(PUBLISHED)).memory_analysis()
    assert memory.temp_size_in_bytes <= most
    if variant is V.bit_packed:
        assert memory.output_size_in_bytes == 1024 * 131072 * 4 // 32
