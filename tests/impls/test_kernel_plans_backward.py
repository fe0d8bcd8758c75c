"""The backward of native sparse attention uses Hopper's matrix units, without spills: compiled, not run."""

import json
import subprocess
import sys

import pytest

from tests.cli.forked import ROOT

BACKWARD = ("query_gradients", "mean_gradients", "further_gradients", "key_gradients")
MULTIPROCESSORS = 132
COMPILE = """
import json, re, sys, tempfile
from pathlib import Path
from harness.worker.frameworks.triton.environment import prepare_environment

prepare_environment(interpret=False, cache=Path(sys.argv[2]))
from triton.runtime.jit import JITFunction
from harness.catalog import discovery, loading
from harness.catalog.build import build
from harness.core.case import Case
from harness.cubin import machine_code
from harness.worker.frameworks.base import TraceLimits
from harness.worker.frameworks.triton import kernel_compiler

run, wanted = JITFunction.run, json.loads(sys.argv[1])
JITFunction.run = lambda self, *a, **k: run(self, *a, **k) if self.fn.__name__ in wanted["kernels"] else None
kernel_compiler.use_absent_gpu(kernel_compiler.gpu_of("cuda:h100"))
info = discovery.builtin().implementations[wanted["impl"]]
built = build(loading.load(info.module), Case.of(info.id, {}, wanted["workload"], "fwd_bwd", "cuda"))
_, recorder = kernel_compiler.compile_launches(built, "fwd_bwd", TraceLimits(600.0, 1 << 60))
found = []
for launch in recorder.launches:
    if launch.compiled:
        code = machine_code.read(launch.compiled.asm["cubin"], machine_code.tools_folder())
        tile = r"local_alloc : \\(\\) -> !ttg.memdesc<(\\d+)x\\d+x\\d+xbf16"
        buffers = re.findall(tile, launch.compiled.asm["ttgir"])
        found.append([launch.kernel, launch.grid, code.spilled_bytes, code.by_class(), [*map(int, buffers)]])
print(json.dumps(found))
"""


@pytest.mark.torch
@pytest.mark.long
@pytest.mark.parametrize(
    ("impl", "heads"), [("triton_nsa", (64, 4)), ("triton_nsa_fla", (64, 4)), ("triton_nsa_fla", (4, 1))]
)
@pytest.mark.parametrize("width", [64, 128])
def test_products_of_the_backward_take_warp_groups(tmp_path, impl, heads, width):
    """HGMMA alone, nothing spilled, two steps of tiles in flight, and means for every multiprocessor."""
    pytest.importorskip("triton")
    workload = {"seq": 4096, "heads": heads[0], "kv_heads": heads[1], "head_dim": width, "dtype": "bf16"}
    wanted = {"impl": f"attention/{impl}", "kernels": BACKWARD, "workload": workload}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, json.dumps(wanted), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {kernel for kernel, *_ in found} == set(BACKWARD)
    assert len(found) == 4 + (impl != "triton_nsa")  # there the heads that share picks have another launch
    for kernel, grid, spilled, instructions, buffers in found:
        assert instructions["wgmma"], kernel
        assert "mma" not in instructions, kernel
        assert not spilled, kernel
        assert buffers, kernel
        assert min(buffers) >= 2, (kernel, buffers)
        if kernel == "mean_gradients":
            assert grid[0] * grid[1] >= MULTIPROCESSORS
