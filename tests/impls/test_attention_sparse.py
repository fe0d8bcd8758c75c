"""What the sparse forms of attention must and must not do, apart from their numbers."""

import dataclasses
from functools import partial

import numpy as np
import pytest

from impls.attention.family import FAMILY, AttentionWorkload
from impls.attention.mslk import _torch as _nsa_torch
from tests.impls.attention_case import drawn
from tests.impls.torch_case import gradients, operators, run, run_marks, tensor
from tests.impls.variants import ATTENTION as V

pytestmark = pytest.mark.torch

SPARSE = (V.nsa_mslk, V.nsa_mslk_sparse_compressed)
NAMES = [variant.name for variant in SPARSE]

SMALL = AttentionWorkload(
    seq=640, heads=4, kv_heads=2, head_dim=16, block=16, selected=4, window=70,
    compressed_block=8, compressed_selected=2,
)  # fmt: skip


def of(**fields):
    return dataclasses.replace(SMALL, **fields)


def test_with_few_groups_both_sparse_forms_are_one_program():
    few = of(compressed_block=128, compressed_selected=16)
    assert operators(V.nsa_mslk, FAMILY, few) == operators(V.nsa_mslk_sparse_compressed, FAMILY, few)
    assert operators(V.nsa_mslk, FAMILY, SMALL) != operators(V.nsa_mslk_sparse_compressed, FAMILY, SMALL)


@pytest.mark.parametrize("variant", SPARSE, ids=NAMES)
def test_a_query_that_sees_nothing_gives_zero(variant):
    w = of(seq=256, selected=1, dtype="f64")
    inputs = drawn(w, gates=(0, 1, 0))
    inputs["q"][:] = 1
    inputs["k"][:, 160:176] = 2
    reference = FAMILY.semantics[variant.semantics].reference(w, None)
    cotangent = np.random.default_rng(2).standard_normal((1, 256, 4, 16))
    result, found = gradients(variant(w), inputs, cotangent)
    expected, wanted = gradients(reference, inputs, cotangent, wide=True)
    assert not result[:, :160].any()
    assert not expected[:, :160].any()
    assert result[:, 160:].all()
    for name in ("q", "k", "v", "gates"):
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-10)


STEPS = [("STEP_TILES", 1), ("STEP_TILES", 2), *(("CACHED_BYTES", limit) for limit in (1, 1 << 16, 1 << 40))]


@pytest.mark.parametrize("variant", SPARSE, ids=NAMES)
@pytest.mark.parametrize(("limit", "value"), STEPS)
@pytest.mark.parametrize("window", [70, 700])
def test_steps_do_not_show_in_the_result(variant, window, limit, value, monkeypatch):
    """Masks are drawn over those of the step before, from the fifth tile on in part."""
    w = of(
        seq=1000, block=8, window=window, dtype="f64", selected=5, compressed_block=2, compressed_selected=3
    )
    inputs = drawn(w)
    cotangent = np.random.default_rng(3).standard_normal((1, w.seq, w.heads, w.head_dim))
    whole, wanted = gradients(variant(w), inputs, cotangent)
    monkeypatch.setattr(_nsa_torch, limit, value)
    result, found = gradients(variant(w), inputs, cotangent)
    for made in (result, run(variant(w), inputs)):
        np.testing.assert_allclose(made, whole, rtol=1e-10, atol=1e-14)
    for name in ("q", "k", "v", "gates"):
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-12)


def test_steps_shrink_with_the_memory_they_may_take():
    w = AttentionWorkload(seq=131072, head_dim=64)
    assert _nsa_torch._tiles_per_step(w, 0, 512 << 20) == 8
    assert _nsa_torch._tiles_per_step(dataclasses.replace(w, heads=64, batch=2), 0, 512 << 20) == 1
    assert _nsa_torch._tiles_per_step(w, 0, 1) == 1


@pytest.mark.parametrize(
    ("seq", "steps"), [(8192, 32), pytest.param(131072, 256, marks=pytest.mark.long)], ids=["8Ki", "128Ki"]
)
@pytest.mark.parametrize("variant", SPARSE, ids=NAMES)
def test_a_long_sequence_traces_in_few_steps_and_without_its_square(variant, seq, steps):
    w = AttentionWorkload(seq=seq, head_dim=64)
    shape, seen = operators(variant, FAMILY, w)
    assert shape == (1, w.seq, 8, 64)
    assert sum(name.startswith("aten.topk") for name, _ in seen) <= steps
    largest = max(np.prod(shape, dtype=np.int64) for _, shapes in seen for shape in shapes)
    assert largest <= w.seq * w.heads * w.head_dim


@pytest.mark.parametrize("variant", SPARSE, ids=NAMES)
def test_a_pullback_can_be_applied_again(variant):
    import torch

    inputs = {name: tensor(values).requires_grad_() for name, values in drawn(of(seq=272)).items()}
    result = variant(of(seq=272))(**inputs)
    seed = torch.ones_like(result)
    first, second = (
        torch.autograd.grad(result, list(inputs.values()), seed, retain_graph=True) for _ in "ab"
    )
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("name", ["nsa_mslk", "nsa_mslk_sparse_compressed"])
def test_few_selections_are_ambiguous(name):
    w = AttentionWorkload(seq=8192, head_dim=64, compressed_block=8)
    inputs = drawn(dataclasses.replace(w, gated=False))
    assert run_marks(FAMILY.semantics[name].ambiguous(w, None), inputs).mean() < 0.01


@pytest.mark.parametrize("name", ["nsa_mslk", "nsa_mslk_sparse_compressed"])
def test_equal_blocks_at_the_cutoff_are_ambiguous(name):
    inputs = drawn(SMALL)
    inputs["k"][:] = inputs["k"][:, :16].repeat(40, 0).reshape(1, 640, 2, 16)
    marks = run_marks(FAMILY.semantics[name].ambiguous(SMALL, None), inputs)
    assert marks.shape == (1, 640, 4)
    assert marks.all()
    everything = of(selected=40, compressed_selected=5)
    assert not run_marks(FAMILY.semantics[name].ambiguous(everything, None), inputs).any()


def test_a_score_moves_by_less_than_its_ambiguity():
    """Scores in f32, summed in three orders, stay within a deviation of which six are allowed."""
    import torch

    from impls.attention._references.ambiguous import _deviation, mean_keys
    from impls.attention._references.attention import block_scores

    w = of(heads=2, kv_heads=2)
    q, k = (tensor(drawn(w)[name]) for name in "qk")
    tiles = torch.arange(2)
    exact = block_scores(w, q.double(), k.double())(tiles)
    allowed = _deviation(w, q.double(), *mean_keys(w, k.double()), tiles)
    parts = [q[:, :256], q[:, 256:512]]
    mean_k = k.unflatten(1, (-1, 16)).mean(2).transpose(1, 2)
    pooled = torch.stack([part.mean(1) for part in parts], 2) @ mean_k.transpose(-1, -2) / 4
    running = torch.stack([part.flip(1).cumsum(1)[:, -1] / 256 for part in parts], 2)
    running = (running[:, :, :, None] * mean_k[:, :, None]).cumsum(-1)[..., -1] / 4
    full = torch.stack([torch.einsum("bthd,bhjd->bhtj", part, mean_k).mean(2) / 4 for part in parts], 2)
    finite = exact.isfinite()
    for scores in (pooled, running, full):
        assert ((scores - exact).abs() / allowed)[finite].max() < 2


@pytest.mark.parametrize(("apart", "ambiguous"), [(1e-3, True), (1e-2, False)])
def test_groups_are_as_ambiguous_as_the_rounding_of_their_sums(monkeypatch, apart, ambiguous):
    """Eight scores of 1000 without an error of their own: six deviations of both means are 0.0027."""
    import torch

    from impls.attention._references import ambiguous as _ambiguous

    scores = torch.full((1, 1, 1, 16), 1000.0, dtype=torch.float64)
    scores[..., 8:] -= apart
    monkeypatch.setattr(_ambiguous, "means_scores", lambda *_: lambda _: scores)
    monkeypatch.setattr(_ambiguous, "_deviation", lambda *_: torch.zeros_like(scores))
    w = of(seq=256, selected=16, compressed_block=8, compressed_selected=1)
    near = _ambiguous.near_ties(w, None, None, None, None, sparse_compressed=True)
    assert near.tolist() == [[[ambiguous]]]


def test_offsets_beyond_int32_are_read():
    """Behind two million tokens of eight key heads a row begins beyond 2³¹ elements (MSLK #296).

    Every row of the table holds its own number, once: the result tells which rows were read.
    """
    import torch

    from impls.attention._branches import attend_selected

    w = of(seq=(2 << 20) + 1024, heads=8, kv_heads=8, head_dim=128, block=64, selected=2, tile=256)
    count = w.seq // w.block
    numbers = torch.arange(8 * count, dtype=torch.float64)[:, None].expand(-1, 64 * 128)
    assert numbers.numel() > 2**31
    picks = torch.tensor([count - 9, count - 7]).expand(8, 1, 2)
    query = torch.ones(1, 256, 8, 128, dtype=torch.float64)
    read = attend_selected(
        w, query, w.seq - 256, [torch.zeros_like(numbers[:, :1]).expand_as(numbers), numbers], picks, stride=1
    )
    assert torch.equal(read[0, :, :, 0], (torch.arange(1, 9) * count - 8.0).expand(256, 8).double())


def traced(variant, w):
    """The figures of a forward over fake tensors."""
    import torch

    from harness.worker.frameworks.base import Patience
    from harness.worker.frameworks.torch.arrays import empty
    from harness.worker.frameworks.torch.framework import Torch
    from harness.worker.frameworks.torch.trace import figures

    function, shapes = variant(w), FAMILY.shapes(w)
    with torch.no_grad():
        return figures(
            lambda inputs, _: lambda: function(**inputs),
            lambda: {name: empty(shape, Torch.device) for name, shape in shapes.items()},
            Patience(60.0, 1 << 40),
        )


@pytest.mark.parametrize(
    ("variant", "plain"),
    [
        (V.nsa_mslk_mask_mod, V.nsa_mslk),
        (V.nsa_mslk_unshared, V.nsa_mslk_sparse_compressed),
        (V.nsa_mslk_by_branch, V.nsa_mslk),
        (partial(V.nsa_mslk_by_branch, in_place=False), V.nsa_mslk),
        (V.nsa_mslk_recompute, V.nsa_mslk),
    ],
    ids=["mask_mod", "unshared", "in place", "side by side", "recompute"],
)
@pytest.mark.parametrize("fields", [{}, {"gated": False}, {"varlen": True, "segments": 4}], ids=str)
def test_what_upstream_replaced_gives_the_same(variant, plain, fields, monkeypatch):
    monkeypatch.setattr(_nsa_torch, "STEP_TILES", 1)
    w = of(seq=1000, block=8, window=70, dtype="f64", selected=5, compressed_selected=3, **fields)
    inputs = drawn(w)
    cotangent = np.random.default_rng(3).standard_normal((1, w.seq, w.heads, w.head_dim))
    wanted, found = (gradients(each(w), inputs, cotangent) for each in (plain, variant))
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-13)
    np.testing.assert_allclose(run(variant(w), inputs), wanted[0], atol=1e-13)
    for name in wanted[1]:
        np.testing.assert_allclose(found[1][name], wanted[1][name], atol=1e-12)


def test_skipping_halves_the_products_of_the_compressed_branch(monkeypatch):
    """Of n steps the i-th visits i shares of the means, or all n: n (n + 1) / 2 against n²."""
    monkeypatch.setattr(_nsa_torch, "STEP_TILES", 1)
    w = of(seq=4096, head_dim=32)
    masked, skipped = (traced(each, w).flops for each in (V.nsa_mslk_mask_mod, V.nsa_mslk))
    share = 4 * w.heads * w.head_dim * w.tile * (w.tile // w.block)
    assert masked - skipped == share * (16 * 16 - 16 * 17 // 2)


def test_shared_selection_saves_one_product_of_scores(monkeypatch):
    monkeypatch.setattr(_nsa_torch, "STEP_TILES", 1)
    w = of(seq=1024)
    twice, once = (traced(each, w).flops for each in (V.nsa_mslk_unshared, V.nsa_mslk_sparse_compressed))
    scored = sum(range(1, 5)) * (w.tile // w.block)  # of a tile's queries, the blocks up to its end
    assert twice - once == 2 * w.heads * w.head_dim * scored


def test_branches_in_place_hold_two_results_less():
    w = of(seq=4096)
    beside, in_place = (
        traced(partial(V.nsa_mslk_by_branch, in_place=x), w).temp_bytes for x in (False, True)
    )
    assert beside - in_place == 2 * 4 * w.seq * w.heads * w.head_dim


def residuals(variant, w):
    """Bytes of the storages that a forward leaves to its backward, over fake tensors; the result is none."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.autograd.graph import saved_tensors_hooks

    sizes = {}

    def note(saved):
        storage = saved.untyped_storage()
        sizes[storage._cdata] = storage.nbytes()
        return saved

    kinds = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16}
    shapes = FAMILY.shapes(w).items()
    with FakeTensorMode(), torch.enable_grad():
        fake = {name: torch.empty(x.shape, dtype=kinds[x.dtype], requires_grad=True) for name, x in shapes}
        with saved_tensors_hooks(note, lambda saved: saved):
            result = variant(w)(**fake)
    sizes.pop(result.untyped_storage()._cdata, None)
    return sum(sizes.values())


@pytest.mark.parametrize(
    "fields", [{}, {"dtype": "bf16", "seq": 1008, "batch": 2}, {"gated": False, "seq": 16}]
)
def test_a_recomputing_backward_finds_saved_what_its_fact_says(fields):
    w = of(**fields)
    saved = residuals(V.nsa_mslk_recompute, w)
    assert V.nsa_mslk_recompute.facts(w, None, {}) == {"bytes_saved_for_backward": saved}
    results = 3 * w.batch * w.seq * w.heads * w.head_dim * (2 if w.dtype == "bf16" else 4)
    assert residuals(V.nsa_mslk, w) >= saved + results
