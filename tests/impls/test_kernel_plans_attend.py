"""The plan of sparse attention's forward on Hopper: matrix units, no spills, copies in flight."""

import json
import subprocess
import sys

import pytest

from tests.cli.forked import ROOT

COMPILE = """
import json, math, re, sys, tempfile
from pathlib import Path
from harness.catalog import loading
from harness.catalog.build import build
from harness.catalog.discovery import builtin
from harness.core.case import Case
from harness.worker.frameworks.base import TraceLimits
from harness.worker.frameworks.triton import kernel_compiler
from harness.worker.frameworks.triton.environment import prepare_environment

def attend_launches(name, fields):
    info = builtin().implementations[f"attention/{name}"]
    built = build(loading.load(info.module), Case.of(info.id, {}, fields, "fwd", "cuda"))
    _, recorder = kernel_compiler.compile_launches(built, "fwd", TraceLimits(600.0, 1 << 60))
    for launch in recorder.launches:
        if launch.kernel == "attend":
            figures = kernel_compiler.kernel_figures(launch, 1, gpu)
            waits = re.findall(r"cp.async.wait_group\\s+(\\d+)", launch.compiled.asm["ptx"])
            yield {
                "matrix": figures.matrix_paths,
                "spilled": figures.spilled_bytes,
                "programs": math.prod(launch.grid),
                "waits": [*map(int, waits)],
            }

with tempfile.TemporaryDirectory() as cache:
    prepare_environment(interpret=False, cache=Path(cache))
    gpu = kernel_compiler.gpu_of("cuda:h100")
    kernel_compiler.use_absent_gpu(gpu)
    print(json.dumps([[*attend_launches(*case)] for case in json.loads(sys.argv[1])]))
"""
FORMS = (("triton_nsa", 4, 1), ("triton_nsa_paper", 4, 1), ("triton_nsa_fla", 64, 4))
LOOPS = 2  # of a branch: tiles that all rows see, and masked tiles


@pytest.mark.full
def test_the_forward_takes_hoppers_matrix_units():
    """Every loop over tiles of keys waits while the copies of a further tile's keys and values go on."""
    pytest.importorskip("triton")
    cases = [
        (name, {"seq": 4096, "heads": heads, "kv_heads": shared, "head_dim": width, "dtype": "bf16"})
        for name, heads, shared in FORMS
        for width in (64, 128)
    ]
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, json.dumps(cases)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for (name, fields), launches in zip(cases, json.loads(done.stdout), strict=True):
        where = (name, fields["head_dim"])
        assert len(launches) == (1 if name == "triton_nsa" else 3), where
        for launch in launches:
            assert set(launch["matrix"]) == {"wgmma"}, where
            assert launch["spilled"] == 0, where
            assert launch["waits"].count(2) == 3 // len(launches) * LOOPS, where
            assert launch["programs"] >= 128, where
