"""The variants of the attention family hold the checks that concern them."""

import dataclasses

import numpy as np
import pytest

from impls.attention.family import FAMILY
from tests.impls.jax_case import jit
from tests.impls.judgements import assert_passed
from tests.impls.test_attention_checks import CHECKS, PACKED, SMALL
from tests.impls.test_attention_checks_model import trial
from tests.impls.torch_case import named
from tests.impls.trials import failures, verdicts
from tests.impls.variants import ATTENTION as V

F32 = dataclasses.replace(SMALL, dtype="f32")
LOW = dataclasses.replace(SMALL, dtype="bf16", batch=2)
ODD = dataclasses.replace(SMALL, dtype="f32", seq=72, tile=48, block=8, heads=3, kv_heads=3, gated=False)
WORKLOADS = {"f32": F32, "bf16": LOW, "odd": ODD}
SPARSE = [V.nsa_mslk, V.nsa_mslk_sparse_compressed, V.nsa_mslk_upstream, V.nsa_paper]
TORCH = [V.dense, V.dense_sdpa, V.dense_chunked, *SPARSE]


def failed_of(implementation, w, mode):
    """Reasons of the checks that fail; and how many concern the case."""
    said = verdicts(FAMILY, implementation.semantics, trial(w, implementation, mode))
    return failures(said), len(said)


@pytest.mark.torch
@pytest.mark.parametrize("w", WORKLOADS.values(), ids=WORKLOADS)
@pytest.mark.parametrize("implementation", TORCH, ids=lambda i: i.name)
def test_torch_holds(implementation, w):
    failed, count = failed_of(implementation, w, "fwd")
    assert failed == {}
    assert count >= (8 if implementation in SPARSE else 4)


@pytest.mark.torch
@pytest.mark.parametrize("w", [F32, LOW], ids=["f32", "bf16"])
@pytest.mark.parametrize("implementation", TORCH, ids=lambda i: i.name)
def test_torch_holds_backward(implementation, w):
    failed, count = failed_of(implementation, w, "bwd")
    assert failed == {}
    assert count == (2 if implementation in SPARSE else 1)


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["fwd", "bwd"])
@pytest.mark.parametrize("implementation", [V.dense_chunked, V.nsa_mslk, V.nsa_paper], ids=lambda i: i.name)
def test_packed_ones_hold(implementation, mode):
    failed, count = failed_of(implementation, dataclasses.replace(PACKED, dtype="f32"), mode)
    assert failed == {}
    assert count >= 1


@pytest.mark.jax
@pytest.mark.parametrize(
    ("implementation", "names"),
    [
        (V.dense_jax, {"causality", "finite_sentinel_dense", "no_nan_rows"}),
        (V.nsa_mslk_jax, {"causality_by_block", "causality_by_tile", "finite_sentinel", "no_superset"}),
    ],
)
def test_jax_holds(implementation, names):
    """Each further workload is a compilation; `seqsweep check` makes all of them."""

    def run(function, inputs):
        return np.asarray(jit(function)(**named(function, inputs))).astype(np.float64)

    made = trial(F32, implementation, run=run)
    for name in names:
        assert CHECKS[name].concerns(implementation.semantics, "fwd", tuple(made.inputs), F32)
        assert_passed(CHECKS[name].judge(made))
