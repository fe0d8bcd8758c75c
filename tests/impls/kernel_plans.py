"""Print what the kernels of cases compile to for an H100, as JSON; nothing runs.

    python -m tests.impls.kernel_plans CASES

CASES is a JSON list of [implementation, mode, fields of the workload, names of the kernels to compile], where
no names are all kernels.
"""

import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from unittest.mock import patch

from harness.catalog import loading
from harness.catalog.build import build
from harness.catalog.discovery import builtin
from harness.core.case import Case
from harness.worker.frameworks.base import TraceLimits
from harness.worker.frameworks.triton import kernel_compiler
from harness.worker.frameworks.triton.environment import prepare_environment

COPY = re.compile(r"async_copy_global_to_local .*tensor<\d+x\d+x!tt\.ptr")  # of a tile, not of a vector
WAIT = re.compile(r"ttg\.async_wait .*num = (\d+)")
FIGURES = ("kernel", "grid", "waves", "blocks_per_sm", "registers", "spilled_bytes", "matrix_paths")
PRODUCT = re.compile(r"(?:tt\.dot|ttng\.warp_group_dot) ")


def copies_of_loops(ttgir):
    """For each loop with products: [tiles copied for a later step, copies still running after the wait].

    A step begins with a wait for its own tiles. The copies that still run then belong to later steps.
    """
    found, around = [], []
    for line in ttgir.splitlines():
        depth = len(line) - len(line.lstrip())
        if "scf.for" in line:
            around.append(Counter(depth=depth))
        elif around and depth == around[-1]["depth"] and line.lstrip().startswith("}"):
            loop = around.pop()
            if loop["products"]:
                found.append([loop["tiles"], loop["going"]])
        elif around:
            loop, wait = around[-1], WAIT.search(line)
            loop["products"] += bool(PRODUCT.search(line))
            loop["tiles"] += bool(loop["waits"] and COPY.search(line))
            if wait:
                loop["going"] = loop["going"] if loop["waits"] else int(wait[1])
                loop["waits"] += 1
    return found


def plan_of(gpu, name, mode, fields, kernels):
    from triton.runtime.jit import JITFunction

    from harness.worker.frameworks.triton.launches import count_launches

    run = JITFunction.run

    def compile_chosen(self, *args, **options):
        return run(self, *args, **options) if not kernels or self.fn.__name__ in kernels else None

    built = build(
        loading.load(builtin().implementations[name].module), Case.of(name, {}, fields, mode, "cuda")
    )
    with patch.object(JITFunction, "run", compile_chosen):
        static, recorder = kernel_compiler.compile_launches(built, mode, TraceLimits(600.0, 1 << 60))
    recorder.launches = [launch for launch in recorder.launches if launch.compiled]
    compiled = kernel_compiler.compiled_kernels(recorder, gpu)
    launches = [
        {name: getattr(figures, name) for name in FIGURES}
        | {"loops": copies_of_loops(launch.compiled.asm["ttgir"])}
        for (launch, _), figures in zip(count_launches(recorder.launches), compiled, strict=True)
    ]
    return {"temp_bytes": static.temp_bytes, "launches": launches}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        prepare_environment(interpret=False, cache=Path(cache))
        h100 = kernel_compiler.gpu_of("cuda:h100")
        kernel_compiler.use_absent_gpu(h100)
        print(json.dumps([plan_of(h100, *case) for case in json.loads(sys.argv[1])]))
