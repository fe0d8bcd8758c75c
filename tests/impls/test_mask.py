"""The mask family: its inputs, every variant against its reference, and what XLA plans for it."""

import inspect

import numpy as np
import pytest

from harness import Array, Evidence, Unsupported, cast
from harness.catalog.arrays import short_name
from impls.mask.broadcast import broadcast
from impls.mask.family import FAMILY, MaskWorkload
from impls.mask.reference import closed_value
from impls.mask.scatter import scatter
from impls.mask.scatter_flat import scatter_flat
from impls.mask.threshold_exactk import threshold_exactk
from impls.mask.threshold_raw import threshold_raw
from tests.impls.jax_case import call, jit

ALL = (broadcast, scatter, scatter_flat, threshold_exactk, threshold_raw)
NAMES = [variant.name for variant in ALL]
FULL = {"f32": "float32", "bf16": "bfloat16", "f64": "float64", "i32": "int32"}


def compiled(variant, w):
    """The variant compiled for this host without allocating its inputs."""
    import jax

    function = variant(w)
    shapes = FAMILY.shapes(w)
    arrays = {
        name: jax.ShapeDtypeStruct(shapes[name].shape, FULL[shapes[name].dtype])
        for name in inspect.signature(function).parameters
    }
    return jit(function).lower(**arrays).compile()


def wide(inputs):
    """Floating inputs as f64, the way a reference receives them."""
    return {n: a if a.dtype.kind == "i" else a.astype(np.float64) for n, a in inputs.items()}


def reference(semantics, w, inputs, rows=None):
    function = FAMILY.semantics[semantics].reference(w, rows)
    widened = wide(inputs)
    return function(**{name: widened[name] for name in inspect.signature(function).parameters})


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
@pytest.mark.parametrize("batch", [1, 3])
def test_inputs_agree_with_shapes(dtype, batch):
    w = MaskWorkload(batch=batch, rows=5, seq=96, topk=7, dtype=dtype)
    inputs = FAMILY.inputs(w, np.random.default_rng(0))
    described = {name: Array(a.shape, short_name(a.dtype)) for name, a in inputs.items()}
    assert described == FAMILY.shapes(w)


@pytest.mark.jax
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
def test_inputs_are_the_selection_of_lax_top_k(dtype):
    import jax

    w = MaskWorkload(batch=2, rows=4, seq=4096, topk=300, dtype=dtype)
    inputs = FAMILY.inputs(w, np.random.default_rng(3))
    with jax.enable_x64(dtype == "f64"):
        values, indices = jax.lax.top_k(inputs["scores"], w.topk)
        assert np.array_equal(inputs["topk_indices"], np.asarray(indices))
        assert np.array_equal(inputs["topk_values"], np.asarray(values))


def test_inputs_follow_the_seed():
    w = MaskWorkload(rows=2, seq=64, topk=4)
    first, again, other = (FAMILY.inputs(w, np.random.default_rng(seed))["scores"] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.jax
@pytest.mark.parametrize("variant", ALL, ids=NAMES)
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
@pytest.mark.parametrize(
    "shape", [(1, 3, 4096, 512), (2, 5, 257, 1), (1, 2, 33, 32)], ids=["long", "odd", "all_but_one"]
)
def test_variant_meets_its_contract(variant, dtype, shape):
    batch, rows, seq, topk = shape
    w = MaskWorkload(batch=batch, rows=rows, seq=seq, topk=topk, dtype=dtype)
    inputs = FAMILY.inputs(w, np.random.default_rng(7))
    result = call(variant, w, inputs)
    assert short_name(result.dtype) == dtype
    expected = reference(variant.semantics, w, inputs)
    judgement = FAMILY.semantics[variant.semantics].contract.judge(Evidence(w, inputs, result, expected))
    assert judgement.passed, judgement.reason


@pytest.mark.parametrize("semantics", ["exact", "threshold"])
def test_reference_on_some_rows_is_part_of_the_whole(semantics):
    w = MaskWorkload(batch=2, rows=6, seq=128, topk=9, dtype="bf16")
    inputs = FAMILY.inputs(w, np.random.default_rng(0))
    rows = np.array([0, 4, 5])
    whole = reference(semantics, w, inputs)
    assert np.array_equal(reference(semantics, w, inputs, rows), whole[:, rows])
    assert FAMILY.rows(w) == whole.shape[1]


@pytest.mark.parametrize(
    ("dtype", "value"), [("f32", -2.3819764e38), ("bf16", -2.37932e38), ("f64", -2.3819763e38)]
)
def test_closed_value(dtype, value):
    assert float(closed_value(dtype)) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(
    ("w", "refused"),
    [
        (MaskWorkload(seq=2048), "topk 2048"),
        (MaskWorkload(seq=1024), "topk 2048"),
        (MaskWorkload(seq=4096, dtype="f16"), "float16"),
    ],
)
def test_refused_workloads(w, refused):
    with pytest.raises(Unsupported, match=refused):
        FAMILY.shapes(w)


def test_flat_offsets_that_need_64_bits_are_refused():
    with pytest.raises(Unsupported, match="2147483648 offsets"):
        scatter_flat(MaskWorkload(rows=16384, seq=131072))


def test_cost_holds_the_published_figures():
    w = MaskWorkload(rows=1024, seq=131072)
    assert FAMILY.cost(w).bytes == 1024 * (2048 * 4 + 131072 * 4)
    assert FAMILY.cost(w).dense_flops == 2 * 274_877_906_944


@pytest.mark.jax
def test_broadcast_is_planned_with_every_comparison_in_memory():
    w = MaskWorkload(rows=1024, seq=131072)
    program = compiled(broadcast, w)
    compared = 1024 * 2048 * 131072
    assert program.memory_analysis().temp_size_in_bytes >= compared
    assert program.cost_analysis()["flops"] == pytest.approx(2 * compared, rel=0.01)


@pytest.mark.jax
@pytest.mark.parametrize(
    ("variant", "most"),
    [(scatter, 2**26), (scatter_flat, 2**25), (threshold_raw, 2**20)],
    ids=NAMES[1:3] + NAMES[4:],
)
def test_the_others_need_little_beside_their_result(variant, most):
    program = compiled(variant, MaskWorkload(rows=1024, seq=131072))
    assert program.memory_analysis().temp_size_in_bytes <= most


def test_the_closed_value_is_what_cast_gives():
    assert closed_value("bf16") == cast(np.float64(-0.7) * np.finfo(np.float32).max, "bf16")
