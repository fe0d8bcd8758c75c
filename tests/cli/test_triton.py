"""Triton kernels in a user's folder, and the figures of their machine code for an absent GPU."""

from importlib.util import find_spec

import pytest

from tests.cli.conftest import call, records

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="the extra triton is not installed")

KERNELS = '''\
"""A stranger's kernels: nothing here knows of seqsweep."""

import triton
import triton.language as tl


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def hungry(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    square = tl.load(x + (at[:, None] * BLOCK + at[None, :]) % n)
    for _ in range(n):
        square = tl.dot(square, tl.trans(square), input_precision="ieee")
    tl.store(y + at, tl.sum(square, 1), mask=at < n)


@triton.jit
def endless(x, y, n):
    i = 0
    while i < 1 << 30:
        i += tl.load(x).to(tl.int32) * 0 + 1
'''
PLUGIN = '''\
"""Points, doubled by kernels."""

from dataclasses import dataclass

from seqsweep import Array, Family, Semantics, axis, exact, implementation


@dataclass(frozen=True)
class Points:
    seq: int = axis()


FAMILY = Family(
    name="points",
    question="What does doubling take?",
    workload=Points,
    shapes=lambda w: {"x": Array((w.seq,), "f32")},
    inputs=lambda w, rng: {"x": rng.integers(0, 100, w.seq).astype("f4")},
    semantics={"double": Semantics("double", lambda w, rows: lambda x: 2 * x, exact())},
)


@implementation(framework="triton", semantics="double")
def KERNEL(w: Points):
    import torch
    from kernels import KERNEL as kernel

    def call(x):
        y = torch.empty_like(x)
        kernel[LAUNCH](x, y, w.seq, ARGUMENTS)
        return y

    return call
'''
BENCH = """\
plugins: [points.py]
defaults: {budget: 50ms, timeout: TIMEOUT, memory: 2GiB}
suites:
  points: {family: points, seq: [256, 1000]}
"""
GRID = "lambda given: (-(-w.seq // given['BLOCK']),)"


def written(folder, kernel, launch=GRID, arguments="BLOCK=256", timeout="30s"):
    """A folder with the stranger's kernels, a plugin that launches one of them, and a suite."""
    (folder / "kernels.py").write_text(KERNELS)
    plugin = PLUGIN.replace("KERNEL", kernel).replace("LAUNCH", launch).replace("ARGUMENTS", arguments)
    (folder / "points.py").write_text(plugin)
    (folder / "bench.yaml").write_text(BENCH.replace("TIMEOUT", timeout))
    return folder


@pytest.mark.full
def test_a_kernel_is_compiled_for_absent_gpus(tmp_path):
    found = records(written(tmp_path, "double"), "static", "--target", "cuda:a100,cuda:h100")
    for record in found:
        for target in ("cuda:a100", "cuda:h100"):
            figures = record["static"][target]
            (kernel,) = figures["kernels"]
            assert kernel["kernel"] == "double"
            assert kernel["source"].startswith("kernels.py:")
            assert kernel["grid"] == [-(-record["seq"] // 256)]
            assert 0 < kernel["registers"] <= 255
            assert kernel["spilled_bytes"] == 0
            assert kernel["limiter"] == "threads"
            assert kernel["instructions"]["global"] >= 2
            assert figures["argument_bytes"] == figures["output_bytes"] == 4 * record["seq"]
            assert figures["flops"] is None
            assert "double" in figures["unavailable"]["flops"]


@pytest.mark.long
def test_a_hang_in_the_interpreter_fails_only_its_check(tmp_path):
    folder = written(tmp_path, "endless", "(1,)", "", timeout="2s")
    first, second = records(folder, "run", code=3)
    assert {first["status"], second["status"]} == {"planned"}
    assert first["correctness"] is None
    assert "not checked, because the interpreter takes more than 2.00 s at 256 tokens" in second["reason"]


LAUNCH = ("--target", "cuda:a100", "--args", "x=f32[4Ki], y=f32[64], n=1000, BLOCK=64, num_warps=1")


@pytest.mark.full
def test_a_kernel_without_a_family_is_compiled(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    done = call(tmp_path, "static", "kernels.py::hungry", *LAUNCH, "--grid", "n/BLOCK")
    assert done.code == 0, done.err
    answer, _, table = done.out.partition("\n\n")
    assert answer.startswith("cuda:a100: hungry uses 255 registers and spills")
    assert "most spills are at kernels.py:" in answer
    assert table.startswith("kernels.py::hungry on cuda:a100\n")
    assert not (tmp_path / "results").exists()


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "timeout", "said"),
    [
        (
            "import os\nos._exit(3)",
            "60s",
            "importing it terminates the process (exit status 3); move slow code from",
        ),
        (
            "while True: pass",
            "2s",
            "it took more than 2 s; move slow code from the module's top level into functions",
        ),
    ],
)
def test_a_file_that_exits_or_hangs_is_one_sentence(tmp_path, text, timeout, said):
    (tmp_path / "mine.py").write_text(text)
    done = call(tmp_path, "static", "mine.py::k", *LAUNCH, "--grid", "1", "--timeout", timeout)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
