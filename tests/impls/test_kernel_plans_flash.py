"""What the kernels of `triton_flash` compile to for an H100: nothing runs."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.cli.forked import ROOT

PLAN = """
import json, sys
from pathlib import Path
from harness.worker.frameworks.triton.environment import prepare_environment
prepare_environment(interpret=False, cache=Path(sys.argv[1]))
from harness.catalog import loading
from harness.catalog.build import build
from harness.catalog.discovery import builtin
from harness.core.case import Case
from harness.cubin import machine_code
from harness.worker.frameworks.base import TraceLimits
from harness.worker.frameworks.triton import kernel_compiler

kernel_compiler.use_absent_gpu(kernel_compiler.gpu_of("cuda:sm_90"))
name = "attention/triton_flash"
axes = {"seq": 65536, "dtype": "bf16", "head_dim": int(sys.argv[2]), "gated": False}
built = build(
    loading.load(builtin().implementations[name].module), Case.of(name, {}, axes, "fwd_bwd", "cuda")
)
_, recorder = kernel_compiler.compile_launches(built, "fwd_bwd", TraceLimits(600.0, 1 << 60))
plans = {}
for launch in recorder.launches:
    code = machine_code.read(launch.compiled.asm["cubin"], machine_code.tools_folder())
    plans[launch.kernel] = {
        "opcodes": dict(code.opcodes),
        "spilled_bytes": code.spilled_bytes,
        "ttgir": launch.compiled.asm["ttgir"],
    }
print(json.dumps(plans))
"""
BUFFERS = re.compile(r"ttg\.local_alloc : \(\) -> !ttg\.memdesc<(\d+)x\d+x\d+x")  # of a pipelined tile


@pytest.mark.full
@pytest.mark.parametrize("width", [64, 128])
def test_products_use_warp_groups_and_copies_overlap_them(tmp_path, width):
    pytest.importorskip("triton")
    done = subprocess.run(
        [sys.executable, "-c", PLAN, str(tmp_path), str(width)],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    plans = json.loads(done.stdout)
    assert {*plans} == {"forward", "row_sums", "key_gradients", "query_gradients"}
    for kernel, plan in plans.items():
        assert plan["spilled_bytes"] == 0, kernel
        assert "HMMA" not in plan["opcodes"], kernel
    for kernel in plans.keys() - {"row_sums"}:
        assert plans[kernel]["opcodes"].keys() >= {"HGMMA", "LDGSTS"}, kernel
        stages = [int(count) for count in BUFFERS.findall(plans[kernel]["ttgir"])]
        assert stages, kernel
        assert min(stages) >= 2, kernel
