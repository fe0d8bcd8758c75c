"""Triton's top-k: programs for a whole H100, few reads, and the same answer in every order of programs."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.forked import ROOT

pytestmark = [pytest.mark.torch, pytest.mark.full]

PLAN = """
import json, sys, tempfile
from pathlib import Path
from harness.catalog import loading
from harness.catalog.build import build
from harness.core.case import Case
from harness.worker.frameworks.base import TraceLimits
from harness.worker.frameworks.triton import kernel_compiler
from harness.worker.frameworks.triton.environment import prepare_environment

prepare_environment(interpret=False, cache=Path(tempfile.mkdtemp(dir=sys.argv[1])))
gpu = kernel_compiler.gpu_of("cuda:h100")
kernel_compiler.use_absent_gpu(gpu)
plans = []
for rows, seq, dtype in json.loads(sys.argv[2]):
    axes = {"rows": rows, "seq": seq, "topk": 2048, "dtype": dtype}
    case = Case.of("topk/triton_radix_select", {}, axes, "fwd", "cuda")
    built = build(loading.load("impls.topk.exact.triton_radix_select"), case)
    static = kernel_compiler.compile_call(built, "fwd", gpu, TraceLimits(600.0, 1 << 60))
    for kernel in static.kernels:
        plans.append([static.temp_bytes, kernel.waves, kernel.spilled_bytes, kernel.blocks_per_sm])
print(json.dumps(plans))
"""


def run_python(*words, **environment):
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_both_kernels_occupy_an_h100(tmp_path):
    """Few rows have several programs each, many rows one; temporaries are at most twice the scores."""
    pytest.importorskip("triton")
    shapes = [(64, 65536, "f32"), (64, 131072, "f32"), (64, 65536, "bf16"), (1024, 65536, "f32")]
    plans = run_python("-c", PLAN, str(tmp_path), json.dumps(shapes))
    assert len(plans) == 2 * len(shapes)
    for (rows, seq, dtype), (temporary, waves, spilled, blocks) in zip(
        [shape for shape in shapes for _ in range(2)], plans, strict=True
    ):
        assert temporary <= 2 * rows * seq * {"f32": 4, "bf16": 2}[dtype]
        assert waves >= 1
        assert not spilled
        assert blocks >= 2


def test_scores_are_read_twice_and_any_order_of_programs_gives_the_same_answer():
    """Only rows of different scores in one bin are read once more per byte in which they differ."""
    pytest.importorskip("triton")
    found = run_python("-m", "tests.impls.topk_programs", "triton_radix_select", "3", TRITON_INTERPRET="1")
    for kind, of_kind in found.items():
        assert (of_kind["answers"], of_kind["wrong"]) == (1, 0), kind
    reads = {kind: of_kind["reads"] for kind, of_kind in found.items()}
    assert max(reads[kind] for kind in ("normal", "tied", "equal", "masked")) < 3
    assert reads["one_bin"] < 7  # three bytes
    assert reads["tiny"] < 8  # all four
