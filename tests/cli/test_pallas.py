"""Kernels in Pallas, from a user's folder to what they take of a TPU that is not here."""

from importlib.util import find_spec

import pytest

from harness.catalog.accelerators import missing_compiler
from harness.catalog.known_frameworks import NO_TRITON
from tests.cli.conftest import call, records

pytestmark = pytest.mark.jax
compiles = pytest.mark.skipif(missing_compiler("tpu") is not None, reason=str(missing_compiler("tpu")))

compiles_gpus = pytest.mark.skipif(missing_compiler("cuda") is not None, reason=str(missing_compiler("cuda")))
reads_gpus = pytest.mark.skipif(
    missing_compiler("cuda") is not None or find_spec("triton") is None,
    reason=f"{missing_compiler('cuda')}; {NO_TRITON}",
)
FOR_GPU = {"block": 2, "more": "compiler_params=gpu.CompilerParams(num_warps=8)"}

PLUGIN = '''\
"""Points, doubled by a kernel."""

from dataclasses import dataclass

from seqsweep import Array, Cost, Family, Semantics, axis, exact, implementation


@dataclass(frozen=True)
class Points:
    seq: int = axis()


FAMILY = Family(
    name="points",
    question="What does doubling take?",
    workload=Points,
    shapes=lambda w: {"x": Array((w.seq, 4096), "f32")},
    inputs=lambda w, rng: {"x": rng.integers(0, 100, (w.seq, 4096)).astype("f4")},
    semantics={"double": Semantics("double", lambda w, rows: lambda x: 2 * x, exact())},
    cost=lambda w: Cost(flops=w.seq * 4096.0),
)


@implementation(framework="pallas", semantics="double")
def kernel(w: Points):
    import jax
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton as gpu

    def double(x, y):
        y[...] = x[...] * 2

    def call(x):
        rows = pl.BlockSpec((BLOCK, 4096), lambda i: (i, 0))
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(double, out_shape=shape, grid=(GRID,), in_specs=[rows], out_specs=rows, MORE)(x)

    return call
'''
BENCH = """\
plugins: [points.py]
defaults: {budget: 50ms, timeout: 30s, memory: 2GiB}
suites:
  points: {family: points, seq: [100, 2000]}
"""
GRID = "pl.cdiv(w.seq, BLOCK)"


def plugin(block=64, more="", grid=GRID):
    return PLUGIN.replace("GRID", grid).replace("BLOCK", str(block)).replace("MORE", more)


def written(folder, **kernel):
    """A folder with a plugin that calls the kernel, and a suite."""
    (folder / "points.py").write_text(plugin(**kernel))
    (folder / "bench.yaml").write_text(BENCH)
    return folder


@pytest.mark.full
def test_a_kernel_is_checked_but_not_timed_here(tmp_path):
    for record in records(written(tmp_path), "run"):
        assert record["status"] == "planned"
        assert record["correctness"]["passed"]
        assert record["timing"] is None
        assert "interpreter" in record["reason"]
        assert "--target cuda:h100 or tpu:v6e" in record["reason"]
        assert record["static"]["host"]["flops"] is None
        assert "that simulates a TPU's memories" in record["static"]["host"]["unavailable"]["flops"]


@pytest.mark.long
def test_an_out_of_bounds_read_is_not_a_traceback(tmp_path):
    """One step more than there are blocks: plain interpretation would go on with the last one."""
    for record in records(written(tmp_path, grid=f"{GRID} + 1"), "run", code=3):
        assert record["status"] == "crashed"


@pytest.mark.full
@compiles
def test_a_kernel_is_compiled_for_absent_tpus(tmp_path):
    found = records(written(tmp_path), "static", "--target", "tpu:v5p,tpu:v6e")
    for record in found:
        for target, limit in (("tpu:v5p", 16 << 20), ("tpu:v6e", 32 << 20)):
            figures = record["static"][target]
            (kernel,) = figures["tpu_kernels"]
            assert kernel["kernel"] == "double"
            assert kernel["source"].startswith("points.py:")
            assert kernel["grid"] == [kernel["steps"]] == [-(-record["seq"] // 64)]
            assert kernel["vmem_bytes"] == 2 * 2 * 64 * 4096 * 4
            assert kernel["vmem_limit_bytes"] == limit
            assert [block["block"] for block in kernel["blocks"]] == [[64, 4096]] * 2
            assert figures["argument_bytes"] >= 4 * 4096 * record["seq"]


@pytest.mark.long
@compiles
def test_too_much_vmem_is_a_separate_outcome(tmp_path):
    folder = written(tmp_path, block=512)
    for record in records(folder, "static", "--target", "tpu:v5p,tpu:v6e", "--seq", "2000"):
        assert record["status"] == "ok"
        small, large = (record["static"][target] for target in ("tpu:v5p", "tpu:v6e"))
        assert (small["fits"], large["fits"]) == (False, True)
        assert (small["overflow"]["memory"], small["overflow"]["needed_bytes"]) == ("vmem", 32 << 20)
        assert small["tpu_kernels"][0]["vmem_bytes"] == large["tpu_kernels"][0]["vmem_bytes"] == 32 << 20
    said = call(folder, "static", "--target", "tpu:v5p", "--seq", "2000").out
    assert "double of kernel at 2000 needs 32.0 MiB of VMEM, 16.0 MiB more than available" in said
    assert "vmem_limit_bytes up to 64.0 MiB" in said


@pytest.mark.full
@reads_gpus
def test_a_kernel_is_compiled_for_absent_gpus(tmp_path):
    for record in records(written(tmp_path, **FOR_GPU), "static", "--target", "cuda:h100,cuda:a100"):
        for target, multiprocessors in (("cuda:h100", 132), ("cuda:a100", 108)):
            (kernel,) = record["static"][target]["kernels"]
            blocks = -(-record["seq"] // 2)
            assert (kernel["kernel"], kernel["grid"], kernel["warps"]) == ("double", [blocks], 8)
            assert kernel["source"].startswith("points.py:")
            assert 0 < kernel["registers"] <= 255
            assert kernel["waves"] == blocks / (kernel["blocks_per_sm"] * multiprocessors)
            assert kernel["instructions"]["global"] > 0
    said = call(tmp_path, "static", "--target", "cuda:h100", "--kernels").out
    assert f"{kernel['registers']} registers" in said or "registers per thread" in said


@pytest.mark.full
@compiles_gpus
def test_too_little_shared_memory_is_an_outcome_and_a_tpu_kernel_is_refused(tmp_path):
    said = call(written(tmp_path), "static", "--target", "cuda:h100", "--seq", "2000")
    assert "its Pallas kernels are not for cuda:h100: kernels for GPUs have" in " ".join(said.out.split())
    assert "Traceback" not in said.out + said.err
