"""One process compiles for several GPUs that are not at hand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
