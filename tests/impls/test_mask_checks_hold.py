"""The variants of the mask family hold the checks that concern them."""

import inspect

import numpy as np
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
from tests.impls.jax_case import jit
from tests.impls.test_mask_checks import PLAIN, trial

VARIANTS = {
    implementation.name: implementation
    for implementation in (
        broadcast,
        broadcast_chunked,
        scatter,
        scatter_flat,
        scatter_sorted,
        onehot_gemm,
        threshold_exactk,
        threshold_raw,
        bit_packed,
        block_granular,
        gather_kv,
        masked_dense,
    )
}


def jitted(w, function):
    """A variant's callable as a trial's: of numpy arrays, compiled."""
    import jax

    names = list(inspect.signature(function).parameters)
    compiled = jit(function)

    def answer(**inputs):
        with jax.enable_x64(w.dtype == "f64"):
            return jax.tree.map(np.asarray, compiled(**inputs))

    answer.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    )
    return answer


def failures(w, implementation, function):
    """The checks that concern a variant: those that fail, by name, and how many there are."""
    made = trial(w, jitted(w, function))
    concern = [c for c in FAMILY.checks if c.concerns(implementation.semantics, "fwd", tuple(made.inputs), w)]
    said = {check.name: (check.decides, check.judge(made)) for check in concern}
    return {name: v.reason for name, (decides, v) in said.items() if decides and not v.passed}, len(said)


@pytest.mark.jax
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize(
    "w",
    [
        MaskWorkload(rows=6, seq=300, topk=40, head_dim=8),
        MaskWorkload(batch=2, rows=5, seq=257, topk=33, head_dim=8, dtype="bf16"),
        MaskWorkload(rows=3, seq=64, topk=9, head_dim=4, dtype="f64"),
        MaskWorkload(rows=6, seq=64, topk=20, head_dim=4, causal=True),
        MaskWorkload(rows=1, seq=2, topk=1, head_dim=4),
    ],
    ids=["f32", "bf16", "f64", "causal", "least"],
)
def test_variants_hold_what_concerns_them(name, w):
    options = {"chunk": 1} if name == "broadcast_chunked" else {}
    failed, count = failures(w, VARIANTS[name], VARIANTS[name](w, **options))
    assert not failed
    assert count >= 1


@pytest.mark.jax
@pytest.mark.parametrize("of", [*INDEXED, *SCORED])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_masked_again_holds_what_concerns_it(of, dtype):
    w = MaskWorkload(batch=2, rows=7, seq=64, topk=20, dtype=dtype, causal=True)
    failed, count = failures(w, masked_again, masked_again(w, of=of))
    assert not failed
    assert count == (6 if of in INDEXED else 3)


@pytest.mark.jax
def test_a_promise_of_unique_indices_is_caught_where_they_are_not():
    failed, _ = failures(PLAIN, bit_packed, bit_packed(PLAIN, unique=True))
    assert list(failed) == ["duplicates"]
