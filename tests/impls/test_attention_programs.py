"""Properties of attention's programs except their values: steps, memory, FLOPs, packing, bits, refusals."""

import importlib
import sys
import types
from functools import partial

import numpy as np
import pytest

from harness import Array, Unsupported
from impls.attention._checks.probe import probe
from impls.attention.family import FAMILY, AttentionWorkload
from tests.impls.attention_by_hand import SMALL, drawn, of, slices
from tests.impls.jax_case import call
from tests.impls.torch_case import Option, gradients, operators, run, tensor, tensors
from tests.impls.variants import ATTENTION as V

pytestmark = [pytest.mark.torch, pytest.mark.jax]

PAPER = AttentionWorkload(seq=200, heads=4, kv_heads=2, head_dim=8, block=16, selected=5, window=20)
LENGTHS = [1, 15, 255, 257, 500]
SPARSE = ("nsa_mslk", "nsa_mslk_sparse_compressed")
PACKED = AttentionWorkload(
    seq=sum(LENGTHS), heads=2, kv_heads=1, head_dim=8, block=32, selected=3, window=70, tile=128,
    compressed_block=2, compressed_selected=2, varlen=True, segments=len(LENGTHS), dtype="f64",
)  # fmt: skip


def answers(function, inputs, cotangent, wide=False):
    """The result and all gradients."""
    result, found = gradients(function, inputs, cotangent, wide=wide)
    return {"result": result, **found}


@pytest.mark.parametrize("w", [PACKED, of(PACKED, tile=256, block=128, gated=False)], ids=["small", "large"])
@pytest.mark.parametrize(
    "name", ["dense", "nsa_mslk", "nsa_mslk_sparse_compressed", "nsa_mslk_upstream", "nsa_paper"]
)
def test_a_packed_sequence_of_a_reference_is_one_alone(name, w):
    """Forward and backward. A sequence of whole blocks need not be packed."""
    inputs, reference = drawn(w, lengths=LENGTHS), FAMILY.semantics[name].reference
    cotangent = np.random.default_rng(1).standard_normal(inputs["q"].shape)
    packed = answers(reference(w, None), inputs, cotangent, wide=True)
    for length, part in zip(LENGTHS, slices(LENGTHS), strict=True):
        own = {name: x[:, part] for name, x in inputs.items() if name != "cu_seqlens"}
        own["cu_seqlens"] = np.array([0, length], np.int32)
        alone = answers(reference(of(w, seq=length, segments=1), None), own, cotangent[:, part], wide=True)
        assert alone.keys() == packed.keys() >= {"result", "q", "k", "v"}
        for array, values in alone.items():
            np.testing.assert_allclose(packed[array][:, part], values, rtol=1e-10, atol=1e-12)
    fixed = of(w, varlen=False, seq=256)
    inputs = drawn(of(fixed, varlen=True, segments=1), lengths=[256])
    both = (run(reference(each, None), inputs) for each in (fixed, of(fixed, varlen=True, segments=1)))
    np.testing.assert_array_equal(*both)


LIMITS = (("STEP_TILES", 1), ("STEP_TILES", 2), ("CACHED_BYTES", 1), ("CACHED_BYTES", 1 << 40))
STEPS = [
    *(
        (V.nsa_mslk_sparse_compressed, {"window": window}, "mslk._torch", *limit)
        for window in (70, 700)
        for limit in LIMITS
    ),
    (V.nsa_mslk, {}, "mslk._torch", "STEP_TILES", 2),
    *((V.nsa_mslk_upstream, {"seq": 1024, "block": b}, "mslk._torch", "STEP_TILES", 1) for b in (128, 256)),
    *((V.nsa_paper, {"seq": 48}, "paper._torch", "STEP_QUERIES", span) for span in (1, 13)),
    (
        V.dsa_gather,
        {"seq": 150, "gated": False, "indexer_heads": 8, "indexer_dim": 16, "topk": 20},
        "dsa.dsa_gather",
        "STEP_QUERIES",
        7,
    ),
]


@pytest.mark.parametrize(("variant", "fields", "module", "limit", "value"), STEPS)
def test_steps_do_not_change_result_and_gradients(variant, fields, module, limit, value, monkeypatch):
    """Masks overwrite those of the step before, from the fifth tile on only in part."""
    sizes = {"seq": 1000, "block": 8, "selected": 5, "compressed_block": 2, "compressed_selected": 3}
    w = of(dtype="f64", **{**sizes, **fields})
    inputs = drawn(w)
    cotangent = np.random.default_rng(3).standard_normal(inputs["q"].shape)
    whole = answers(variant(w), inputs, cotangent)
    monkeypatch.setattr(importlib.import_module(f"impls.attention.{module}"), limit, value)
    for name, values in answers(variant(w), inputs, cotangent).items():
        np.testing.assert_allclose(values, whole[name], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run(variant(w), inputs), whole["result"], rtol=1e-10, atol=1e-13)


SQUARES = [  # the largest array of a forward's operators, in elements
    (Option(V.dense_chunked, chunk=128), of(seq=4096), 4 * 4096 * 128),
    (V.nsa_paper, of(PAPER, seq=4096, heads=1, kv_heads=1, head_dim=16, selected=4), 4096**2 // 32),
    (V.dsa_gather, of(PAPER, seq=2048, gated=False, indexer_heads=2, topk=64), 256 * 2048),
    *((getattr(V, name), AttentionWorkload(seq=8192, head_dim=64), 8192 * 8 * 64) for name in SPARSE),
    pytest.param(
        V.nsa_mslk, AttentionWorkload(seq=131072, head_dim=64), 131072 * 8 * 64, marks=pytest.mark.long
    ),
]


@pytest.mark.parametrize(("variant", "w", "most"), SQUARES, ids=lambda given: getattr(given, "name", None))
def test_nothing_stores_the_square(variant, w, most):
    shape, seen = operators(variant, FAMILY, w)
    assert shape == (1, w.seq, w.heads, w.head_dim)
    assert max(np.prod(shape, dtype=np.int64) for _, shapes in seen for shape in shapes) <= most
    if variant.name in SPARSE:
        assert sum(name.startswith("aten.topk") for name, _ in seen) <= w.seq // w.tile


def test_the_jax_program_does_not_grow_with_the_sequence():
    """A tile is traced once: a Python loop over 4096 tiles would take minutes to lower."""
    import jax

    def equations(seq):
        w = AttentionWorkload(seq=seq, head_dim=64)
        shapes = {n: jax.ShapeDtypeStruct(a.shape, "float32") for n, a in FAMILY.shapes(w).items()}
        jaxpr = jax.make_jaxpr(V.nsa_mslk_jax(w))(*(shapes[n] for n in ("q", "k", "v", "gates")))
        return len(jaxpr.eqns), max(np.prod(v.aval.shape) for e in jaxpr.eqns for v in e.outvars)

    short, long = equations(16384), equations(1 << 20)
    assert long[0] == short[0] < 100
    assert long[1] <= ((1 << 20) + 1024) * 8 * 64


def test_with_few_groups_both_sparse_forms_are_one_program():
    for w, same in ((of(compressed_block=128, compressed_selected=16), True), (SMALL, False)):
        both = (operators(each, FAMILY, w) for each in (V.nsa_mslk, V.nsa_mslk_sparse_compressed))
        assert (next(both) == next(both)) is same


@pytest.mark.parametrize("name", [*SPARSE, "nsa_mslk_jax", "nsa_mslk_tiles"])
def test_a_query_that_sees_nothing_gives_zero(name):
    """The selected branch of the first 160 queries, whose tile picks a block after them."""
    if name == "nsa_mslk_tiles":
        pytest.importorskip("numba", reason="pip install -e '.[numba]'")
    w = of(seq=256, selected=1)
    inputs = drawn(w, gates=(0, 1, 0))
    inputs["q"][:], inputs["k"][:, 160:176] = 1, 2
    result = np.asarray(call(getattr(V, name), w, inputs))
    assert not result[:, :160].any()
    assert result[:, 160:].all()
    if name != "nsa_mslk_tiles":
        case = "jax_case" if name.endswith("jax") else "torch_case"
        pull = importlib.import_module(f"tests.impls.{case}").gradients
        found = pull(getattr(V, name)(w), inputs, np.ones(inputs["q"].shape))[1]
        assert all(np.isfinite(part).all() for part in found.values())


def test_a_pullback_can_be_applied_again():
    import torch

    w = of(seq=272)
    inputs = {name: tensor(values).requires_grad_() for name, values in drawn(w).items()}
    result = V.nsa_mslk_sparse_compressed(w)(**inputs)
    seed = torch.ones_like(result)
    pulled = [torch.autograd.grad(result, list(inputs.values()), seed, retain_graph=True) for _ in "ab"]
    assert all(torch.equal(a, b) for a, b in zip(*pulled, strict=True))


def test_the_indexer_has_no_gradient():
    w = of(PAPER, gated=False, indexer_heads=8, indexer_dim=16, topk=20)
    cotangent = np.ones((1, w.seq, w.heads, w.head_dim))
    cotangent[..., 0] = 2
    builders = [(V.dsa_masked(w), False), (V.dsa_gather(w), False)]
    for function, wide in [*builders, (FAMILY.semantics["dsa"].reference(w, None), True)]:
        found = gradients(function, drawn(w), cotangent, wide=wide)[1]
        assert {name for name in found if found[name].any()} == {"q", "k", "v"}
        assert found.keys() == {"q", "k", "v", "index_q", "index_k", "index_w"}


def test_offsets_beyond_int32_are_read():
    """After two million tokens of eight key heads a row begins beyond 2³¹ elements (MSLK #296).

    Every row of the table has its own number, once, so the result shows which rows were read.
    """
    import torch

    from impls.attention._branches import attend_selected

    w = of(seq=(2 << 20) + 1024, heads=8, kv_heads=8, head_dim=128, block=64, selected=2, tile=256)
    count = w.seq // w.block
    numbers = torch.arange(8 * count, dtype=torch.float64)[:, None].expand(-1, 64 * 128)
    assert numbers.numel() > 2**31
    tables = [torch.zeros_like(numbers[:, :1]).expand_as(numbers), numbers]
    picks = torch.tensor([count - 9, count - 7]).expand(8, 1, 2)
    query = torch.ones(1, 256, 8, 128, dtype=torch.float64)
    read = attend_selected(w, query, w.seq - 256, tables, picks, stride=1)
    assert torch.equal(read[0, :, :, 0], (torch.arange(1, 9) * count - 8.0).expand(256, 8).double())


def traced(variant, w):
    """The figures of a forward over fake tensors."""
    import torch

    from harness.worker.frameworks.base import TraceLimits
    from harness.worker.frameworks.torch.arrays import empty
    from harness.worker.frameworks.torch.framework import Torch
    from harness.worker.frameworks.torch.trace import figures

    function, shapes = variant(w), FAMILY.shapes(w)
    with torch.no_grad():
        return figures(
            lambda inputs, _: lambda: function(**inputs),
            lambda: {name: empty(shape, Torch.device) for name, shape in shapes.items()},
            TraceLimits(60.0, 1 << 40),
        )


BY_BRANCH = [partial(V.nsa_mslk_by_branch, in_place=in_place) for in_place in (False, True)]
WIDTHS, TILES = 4 * 16, 256 // 16  # of all heads; blocks of a tile
SAVED = [
    # In n steps the i-th visits i shares of the means, or all n: n (n + 1) / 2 against n².
    (V.nsa_mslk_mask_mod, V.nsa_mslk, 4096, "flops", 4 * WIDTHS * 256 * TILES * (16 * 16 - 16 * 17 // 2)),
    # One product of scores: a tile's queries with the blocks up to its end.
    (V.nsa_mslk_unshared, V.nsa_mslk_sparse_compressed, 1024, "flops", 2 * WIDTHS * (1 + 2 + 3 + 4) * TILES),
    # Two results.
    (*BY_BRANCH, 4096, "temp_bytes", 2 * 4 * 4096 * WIDTHS),
]


@pytest.mark.parametrize(("plain", "thrifty", "seq", "figure", "saved"), SAVED)
def test_what_upstream_replaced_costs_more_by_as_much_as_it_says(
    plain, thrifty, seq, figure, saved, monkeypatch
):
    if figure == "flops":
        monkeypatch.setattr("impls.attention.mslk._torch.STEP_TILES", 1)
    w = of(seq=seq)
    assert getattr(traced(plain, w), figure) - getattr(traced(thrifty, w), figure) == saved


def residuals(variant, w):
    """Bytes of the storages that a forward saves for its backward, over fake tensors, without the result."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.autograd.graph import saved_tensors_hooks

    sizes = {}

    def note(saved):
        storage = saved.untyped_storage()
        sizes[storage._cdata] = storage.nbytes()
        return saved

    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[w.dtype]
    with FakeTensorMode(), torch.enable_grad(), saved_tensors_hooks(note, lambda saved: saved):
        shapes = FAMILY.shapes(w).items()
        result = variant(w)(**{n: torch.empty(x.shape, dtype=dtype, requires_grad=True) for n, x in shapes})
    sizes.pop(result.untyped_storage()._cdata, None)
    return sum(sizes.values())


@pytest.mark.parametrize(
    "fields", [{}, {"dtype": "bf16", "seq": 1008, "batch": 2}, {"gated": False, "seq": 16}]
)
def test_a_recomputing_backward_saves_the_bytes_of_its_fact(fields):
    w = of(**fields)
    saved = residuals(V.nsa_mslk_recompute, w)
    assert V.nsa_mslk_recompute.facts(w, None, {}) == {"bytes_saved_for_backward": saved}
    results = 3 * w.batch * w.seq * w.heads * w.head_dim * (2 if w.dtype == "bf16" else 4)
    assert residuals(V.nsa_mslk, w) >= saved + results


@pytest.mark.parametrize(("backend", "kernel"), [("math", "attention_math"), ("flash", "flash_attention")])
def test_each_backend_runs_its_own_kernel(backend, kernel):
    import torch

    function, inputs = V.dense_sdpa(PAPER, backend=backend), tensors(drawn(PAPER))
    with torch.profiler.profile() as profile:
        function(*(inputs[key] for key in "qkv"))
    assert any(kernel in e.key for e in profile.key_averages())


KERNEL = AttentionWorkload(seq=64, heads=32, kv_heads=2, head_dim=16, block=16, dtype="bf16")


@pytest.fixture
def fla(monkeypatch):
    """Fake packages with these names and the one function that is called."""

    def install(parallel_nsa):
        import torch

        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        for name in ("fla", "fla.ops", "fla.ops.nsa", "fla.ops.nsa.parallel", "flash_attn"):
            monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        monkeypatch.setattr(sys.modules["fla.ops.nsa.parallel"], "parallel_nsa", parallel_nsa, raising=False)

    return install


def test_fla_says_what_it_needs(fla, monkeypatch):
    fla(None)
    with pytest.raises(Unsupported, match="not on the CPU"):
        V.nsa_fla(KERNEL)(**tensors({name: drawn(KERNEL)[name] for name in "qkv"}))
    for name, package in (("flash_attn", "flash-attn"), ("fla.ops.nsa.parallel", "flash-linear-attention")):
        with monkeypatch.context() as lacking:
            lacking.setitem(sys.modules, name, None)
            with pytest.raises(Unsupported, match=f"needs the package.*pip install {package}"):
                V.nsa_fla(KERNEL)


@pytest.mark.parametrize("w", [KERNEL, of(KERNEL, gated=False), of(KERNEL, varlen=True, segments=2)])
def test_fla_is_called_as_documented(w, fla):
    """With fake tensors of CUDA and the package's signature: each argument has its documented shape."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    def parallel_nsa(q, k, v, g_cmp, g_slc, g_swa, *, block_counts, block_size, window_size, cu_seqlens=None):
        assert [tuple(g.shape) for g in (g_cmp, g_slc, g_swa)] == 3 * [(1, 64, 32)]
        assert tuple(k.shape) == tuple(v.shape) == (1, 64, 2, 16)
        assert (block_counts, block_size, window_size) == (16, 16, 512)
        assert (cu_seqlens is not None) == w.varlen
        return q

    fla(parallel_nsa)
    kinds = {"bf16": torch.bfloat16, "i32": torch.int32}
    with FakeTensorMode(allow_non_fake_inputs=True):
        shapes = FAMILY.shapes(w).items()
        fake = {n: torch.empty(x.shape, dtype=kinds[x.dtype], device="cuda") for n, x in shapes}
        assert V.nsa_fla(w)(**fake).shape == (1, 64, 32, 16)


@pytest.mark.parametrize("fields", [{}, {"varlen": True, "segments": 5, "seq": 1028}])
def test_checks_of_packed_documents_have_sequences_of_their_own(fields):
    """A probe is small and has the check's own cuts, not those of a corpus's documents."""
    probed = probe(AttentionWorkload(seq=4096, varlen=True, lengths="pretrain"), **fields)
    shapes = FAMILY.shapes(probed)
    assert not probed.packed
    assert ("cu_seqlens" in shapes) == bool(fields)
    assert shapes.get("cu_seqlens", Array((6,), "i32")) == Array((6,), "i32")
