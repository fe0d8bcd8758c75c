"""Dense attention in its other forms: one kernel of torch's, chunks of queries, FlexAttention."""

import dataclasses

import numpy as np
import pytest

from harness import Unsupported
from impls.attention.dense.dense_chunked import dense_chunked
from impls.attention.dense.dense_flex import dense_flex
from impls.attention.dense.dense_sdpa import dense_sdpa
from impls.attention.family import FAMILY, AttentionWorkload
from tests.impls.judgements import judged
from tests.impls.torch_case import Option, operators, run, tensor

pytestmark = pytest.mark.torch

SMALL = AttentionWorkload(seq=150, heads=4, kv_heads=2, head_dim=16)


def of(**fields):
    return dataclasses.replace(SMALL, **fields)


VARIANTS = {
    "math": Option(dense_sdpa),
    "flash": Option(dense_sdpa, backend="flash"),
    "chunked": Option(dense_chunked, chunk=64),
    "one-chunk": Option(dense_chunked, chunk=4096),
}


def test_each_backend_runs_its_own_kernel():
    for name, kernel in {"math": "attention_math", "flash": "flash_attention"}.items():
        inputs = {key: tensor(part) for key, part in FAMILY.inputs(SMALL, np.random.default_rng(0)).items()}
        import torch

        with torch.profiler.profile() as profile:
            VARIANTS[name](SMALL)(*(inputs[key] for key in "qkv"))
        assert any(kernel in e.key for e in profile.key_averages())


@pytest.mark.parametrize("backend", ["efficient", "cudnn"])
def test_a_missing_kernel_is_refused_by_name(backend):
    function = dense_sdpa(SMALL, backend=backend)
    with pytest.raises(Unsupported, match=f"{backend} kernel for dtype f32 on cpu"):
        run(function, FAMILY.inputs(SMALL, np.random.default_rng(0)))


def test_chunks_store_no_square():
    w = of(seq=4096)
    _, seen = operators(Option(dense_chunked, chunk=128), FAMILY, w)
    assert max(np.prod(shape) for _, shapes in seen for shape in shapes) <= w.heads * w.seq * 128
    with pytest.raises(Unsupported, match="chunk=0"):
        dense_chunked(w, chunk=0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, on its first compile
def test_flex_refuses_what_has_no_kernel():
    with pytest.raises(Unsupported, match="dtype=f64"):
        dense_flex(of(dtype="f64"))
    with pytest.raises(Unsupported, match="no backward on the cpu"):
        judged(FAMILY, dense_flex, SMALL, backward=True)
