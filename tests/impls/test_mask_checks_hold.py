"""The variants of the mask family hold the checks that concern them."""

import pytest

from impls.mask.bit_packed import bit_packed
from impls.mask.block_granular import block_granular
from impls.mask.broadcast import broadcast
from impls.mask.broadcast_chunked import broadcast_chunked
from impls.mask.family import FAMILY, MaskWorkload
from impls.mask.gather_kv import gather_kv
from impls.mask.masked_again import INDEXED, SCORED, masked_again
from impls.mask.masked_dense import masked_dense
from impls.mask.onehot_gemm import onehot_gemm
from impls.mask.scatter import scatter
from impls.mask.scatter_flat import scatter_flat
from impls.mask.scatter_sorted import scatter_sorted
from impls.mask.threshold_exactk import threshold_exactk
from impls.mask.threshold_raw import threshold_raw
from tests.impls.jax_case import jit, run
from tests.impls.test_mask_checks import CHECKS, PLAIN
from tests.impls.trials import failures, trial_of, verdicts

COMPARED = (broadcast, broadcast_chunked, onehot_gemm, bit_packed, block_granular, gather_kv, masked_dense)
WRITTEN = (scatter, scatter_flat, scatter_sorted, threshold_exactk, threshold_raw)
VARIANTS = {implementation.name: implementation for implementation in (*COMPARED, *WRITTEN)}


def failed_of(w, implementation, **options):
    """Reasons of the checks that fail; and how many concern the variant."""

    def answer(function, inputs):
        return run(function, inputs, x64=w.dtype == "f64")

    made = trial_of(FAMILY, w, lambda w: jit(implementation(w, **options)), answer)
    said = verdicts(FAMILY, implementation.semantics, made)
    assert all(verdict.passed for name, verdict in said.items() if not CHECKS[name].decides)
    return failures(said), len(said)


@pytest.mark.jax
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize(
    "w",
    [
        MaskWorkload(batch=2, rows=5, seq=257, topk=33, head_dim=8, dtype="bf16"),
        MaskWorkload(rows=6, seq=64, topk=20, head_dim=4, causal=True),
        pytest.param(MaskWorkload(rows=6, seq=300, topk=40, head_dim=8), marks=pytest.mark.full),
        pytest.param(MaskWorkload(rows=3, seq=64, topk=9, head_dim=4, dtype="f64"), marks=pytest.mark.full),
        pytest.param(MaskWorkload(rows=1, seq=2, topk=1, head_dim=4), marks=pytest.mark.full),
    ],
    ids=["bf16", "causal", "f32", "f64", "least"],
)
def test_variants_hold_what_concerns_them(name, w):
    options = {"chunk": 1} if name == "broadcast_chunked" else {}
    failed, count = failed_of(w, VARIANTS[name], **options)
    assert not failed
    assert count >= 1


@pytest.mark.jax
@pytest.mark.parametrize("of", [*INDEXED, *SCORED])
@pytest.mark.parametrize("dtype", [pytest.param("f32", marks=pytest.mark.full), "bf16"])
def test_masked_again_holds_what_concerns_it(of, dtype):
    w = MaskWorkload(batch=2, rows=7, seq=64, topk=20, dtype=dtype, causal=True)
    failed, count = failed_of(w, masked_again, of=of)
    assert not failed
    assert count == (6 if of in INDEXED else 3)


@pytest.mark.jax
def test_a_promise_of_unique_indices_is_caught_where_they_are_not():
    failed, _ = failed_of(PLAIN, bit_packed, unique=True)
    assert list(failed) == ["duplicates"]
