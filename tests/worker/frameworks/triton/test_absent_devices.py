"""One process compiles for several GPUs that are not at hand."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)
"""
COMPILE = """
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from kernel import double
from harness.worker.frameworks.triton import launches

for arch in (80, 90):
    driver.set_active(launches.AbsentDevice(GPUTarget("cuda", arch, 32)))
    with launches.record_launches(compiling=True) as recorder, FakeTensorMode():
        double[(1,)](torch.empty(8, device="cuda"), 8, 16)
    assert recorder.launches[0].compiled.metadata.target.arch == arch
"""


@pytest.mark.torch
def test_a_kernel_is_compiled_for_each_of_them(tmp_path, monkeypatch):
    pytest.importorskip("triton")
    (tmp_path / "kernel.py").write_text(KERNEL)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)  # of an earlier test file in this process
    root = Path(__file__).resolve().parents[4]
    script = f"import sys; sys.path[:0] = {[str(tmp_path), str(root)]}\n{textwrap.dedent(COMPILE)}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


HIDE = """
import os
from harness.catalog.accelerators import target
from harness.worker.frameworks.triton.kernel_compiler import use_absent_gpu

use_absent_gpu(target("cuda:h100"))
import torch
assert not torch.cuda.is_available()
assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
"""


@pytest.mark.torch
def test_a_gpu_that_is_at_hand_is_not_seen():
    """Where there is none, the variable alone says so."""
    pytest.importorskip("triton")
    root = Path(__file__).resolve().parents[4]
    subprocess.run(
        [sys.executable, "-c", HIDE],
        env={**os.environ, "PYTHONPATH": str(root), "CUDA_VISIBLE_DEVICES": "0"},
        timeout=120,
        check=True,
    )
