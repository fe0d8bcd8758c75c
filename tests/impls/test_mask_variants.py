"""Further ways to the exact mask: contracts, options, and indices that no selection holds."""

import numpy as np
import pytest

from harness import Evidence, Unsupported
from harness.catalog.arrays import short_name
from impls.mask.broadcast_chunked import broadcast_chunked
from impls.mask.family import FAMILY, MaskWorkload
from impls.mask.onehot_gemm import onehot_gemm
from impls.mask.scatter_sorted import scatter_sorted
from impls.mask.torch_scatter import torch_scatter
from tests.impls.jax_case import call
from tests.impls.torch_case import tensor

JAX = [
    (scatter_sorted, {}),
    (scatter_sorted, {"unique": True}),
    (broadcast_chunked, {"chunk": 1}),
    (broadcast_chunked, {"chunk": 5}),
    (onehot_gemm, {}),
    (onehot_gemm, {"width": 7}),
    (onehot_gemm, {"width": 9999}),
]
IDS = [f"{v.name}{''.join(f'-{x}' for x in options.values())}" for v, options in JAX]


def opened(mask):
    return [np.flatnonzero(row == 0).tolist() for row in mask.reshape(-1, mask.shape[-1])]


def held(w, inputs, result):
    expected = FAMILY.semantics["exact"].reference(w, None)(inputs["topk_indices"])
    return FAMILY.semantics["exact"].contract.judge(Evidence(w, inputs, result, expected))


@pytest.mark.jax
@pytest.mark.parametrize(("variant", "options"), JAX, ids=IDS)
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
@pytest.mark.parametrize("shape", [(1, 3, 1024, 64), (2, 5, 257, 6), (1, 2, 33, 32)])
def test_variant_meets_its_contract(variant, options, dtype, shape):
    w = MaskWorkload(batch=shape[0], rows=shape[1], seq=shape[2], topk=shape[3], dtype=dtype)
    inputs = FAMILY.inputs(w, np.random.default_rng(7))
    result = call(variant, w, inputs, **options)
    assert short_name(result.dtype) == dtype
    judgement = held(w, inputs, result)
    assert judgement.passed, judgement.reason


@pytest.mark.jax
@pytest.mark.parametrize(("variant", "options"), JAX[:1] + JAX[2:], ids=IDS[:1] + IDS[2:])
@pytest.mark.parametrize("index", [-1, -8, -9, 8, 9, 99])
def test_an_index_outside_the_row_opens_nothing(variant, options, index):
    """scatter opens the last column at −1; none of these does."""
    w = MaskWorkload(rows=3, seq=8, topk=6)
    indices = np.array([[[0] * 6, [2, index, 2, 2, 7, 2], [1] * 6]], np.int32)
    assert opened(call(variant, w, {"topk_indices": indices}, **options)) == [[0], [2, 7], [1]]


@pytest.mark.jax
@pytest.mark.parametrize(("variant", "options"), JAX[:1] + JAX[2:], ids=IDS[:1] + IDS[2:])
def test_duplicates_open_once(variant, options):
    w = MaskWorkload(batch=2, rows=8, seq=64, topk=24)
    indices = np.random.default_rng(0).integers(0, w.seq, (2, 8, 24)).astype(np.int32)
    assert any(len(set(row)) < 24 for row in indices.reshape(-1, 24))
    judgement = held(w, {"topk_indices": indices}, call(variant, w, {"topk_indices": indices}, **options))
    assert judgement.passed, judgement.reason


def test_counting_exactly_one_would_lose_duplicates():
    """Why onehot_gemm asks for more than 0."""
    w = MaskWorkload(rows=1, seq=4, topk=3)
    indices = np.array([[[1, 2, 2]]], np.int32)
    counts = (indices[..., None] == np.arange(4)).sum(axis=-2)
    broken = np.where(counts == 1, np.float32(0), np.float32(-1))
    assert opened(broken) == [[1]]
    assert not held(w, {"topk_indices": indices}, broken).passed


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
def test_torch_scatter_meets_its_contract(dtype):
    import torch

    w = MaskWorkload(batch=2, rows=3, seq=257, topk=9, dtype=dtype)
    inputs = FAMILY.inputs(w, np.random.default_rng(7))
    made = torch_scatter(w)(tensor(inputs["topk_indices"]))
    assert made.dtype == {"f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64}[dtype]
    judgement = held(w, inputs, made.double().numpy())  # widening is exact
    assert judgement.passed, judgement.reason


@pytest.mark.torch
@pytest.mark.parametrize("index", [-1, -8, 8])
def test_torch_scatter_raises_outside_the_row(index):
    w = MaskWorkload(rows=1, seq=8, topk=2)
    with pytest.raises((RuntimeError, IndexError), match="out of bounds"):
        torch_scatter(w)(tensor(np.array([[[2, index]]], np.int32)))


@pytest.mark.torch
def test_torch_scatter_opens_duplicates_once():
    w = MaskWorkload(rows=1, seq=8, topk=3)
    assert opened(torch_scatter(w)(tensor(np.array([[[2, 5, 2]]], np.int32))).numpy()) == [[2, 5]]


@pytest.mark.parametrize(
    ("variant", "options", "refused"),
    [
        (broadcast_chunked, {"chunk": 0}, "chunk 0"),
        (broadcast_chunked, {"chunk": 9}, "chunk 9 is no part of topk 8"),
        (onehot_gemm, {"width": 0}, "width 0"),
    ],
)
def test_refused_options(variant, options, refused):
    with pytest.raises(Unsupported, match=refused):
        variant(MaskWorkload(seq=64, topk=8), **options)


@pytest.mark.jax
@pytest.mark.parametrize(
    ("variant", "options", "most"),
    [
        (scatter_sorted, {}, 2**26),
        (broadcast_chunked, {}, (16 + 4) * 1024 * 131072),
        (onehot_gemm, {}, 1024 * (2048 * 4 * (512 + 256) + 131072 * 8)),
    ],
)
def test_temporaries_are_bounded(variant, options, most):
    """At the production shape, where broadcast plans 264 GiB."""
    import jax

    w = MaskWorkload(rows=1024, seq=131072)
    indices = jax.ShapeDtypeStruct((1, 1024, 2048), "int32")
    program = jax.jit(variant(w, **options)).lower(topk_indices=indices).compile()
    assert program.memory_analysis().temp_size_in_bytes <= most
