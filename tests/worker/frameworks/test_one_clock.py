"""torch's events and jax's profiler agree on the GPU time of a bf16 matrix product."""

import json
import statistics

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")
pytestmark = [pytest.mark.gpu, pytest.mark.torch, pytest.mark.jax]

SIZE, TURNS = 8192, 3
AGREE = 0.03
# Use cuBLAS's heuristic choice like torch: XLA's autotuner could select another kernel.
SAME_KERNEL = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false --xla_gpu_enable_cublaslt=false"
PRODUCT = """
import json, sys

import numpy as np
from ml_dtypes import bfloat16

from harness.worker.frameworks import base

name, size = sys.argv[1], int(sys.argv[2])
framework = base.get(name)
framework.start("cuda", 1, wide=False)
draw = np.random.default_rng(0)
a, b = (framework.put(draw.standard_normal((size, size), np.float32).astype(bfloat16)) for _ in range(2))
if name == "jax":
    import jax

    multiply = jax.jit(lambda a, b: a @ b).lower(a, b).compile()
else:
    multiply = lambda a, b: a @ b
call, timer = lambda: multiply(a, b), framework.timer()
for _ in range(5):
    framework.sync(call())
readings = timer.read([call] * 5, 4, None)
print(json.dumps([timer.method, timer.reason, [s / 4 for s in readings], list(framework.kernels(call))]))
"""


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_both_methods_time_a_matrix_product_equally(printed):
    seconds = {"torch": [], "jax": []}
    kernels = {}
    for _ in range(TURNS):  # alternating, because the GPU warms up
        for name, method in (("torch", "cuda_events"), ("jax", "cupti")):
            last = printed(
                PRODUCT,
                *(name, str(SIZE)),
                JAX_PLATFORMS="cuda,cpu",
                XLA_FLAGS=SAME_KERNEL,
                XLA_PYTHON_CLIENT_PREALLOCATE="false",
            )[-1]
            used, reason, readings, kernels[name] = json.loads(last)
            assert (used, reason) == (method, "")
            seconds[name].append(statistics.median(readings))
    by_events, by_profiler = (statistics.median(readings) for readings in seconds.values())
    assert by_profiler == pytest.approx(by_events, rel=AGREE), (seconds, kernels)
