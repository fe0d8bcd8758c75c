"""The variants of the mask family hold the checks that concern them."""

import pytest

from impls.mask.family import FAMILY, MaskWorkload
from impls.mask.masked_again import INDEXED, SCORED, masked_again
from tests.impls.jax_case import jit, run
from tests.impls.test_mask_checks import CHECKS, PLAIN
from tests.impls.trials import failures, trial_of, verdicts
from tests.impls.variants import MASK as V

COMPARED = (
    V.broadcast,
    V.broadcast_chunked,
    V.onehot_gemm,
    V.bit_packed,
    V.block_granular,
    V.gather_kv,
    V.masked_dense,
)
WRITTEN = (V.scatter, V.scatter_flat, V.scatter_sorted, V.threshold_exactk, V.threshold_raw)
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
    failed, count = failed_of(w, VARIANTS[name], **({"chunk": 1} if name == "broadcast_chunked" else {}))
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
    failed, _ = failed_of(PLAIN, V.bit_packed, unique=True)
    assert list(failed) == ["duplicates"]
