"""Triton kernels compile at corner cases that default options would miss; nothing is interpreted."""

import json
import subprocess
import sys
from itertools import combinations, product

import pytest

from harness.catalog.discovery import builtin
from tests.cli.forked import ROOT
from tests.triton_corners import corners, cover, each

KERNELS = {info.id for info in builtin().implementations.values() if info.framework == "triton"}
AXES = [each("heads", 1, 8, 16), each("width", 64, 72), [{"block": 16, "seq": 32}, {"block": 24, "seq": 48}]]
HIDDEN = """
import os
import triton
import triton.language as tl
from impls.mask.family import MaskWorkload
from seqsweep import implementation

@triton.jit
def refused(x, out):
    place = tl.arange(0, 16)
    for part in range(2):
        tl.store(out + place, 0.0)
        place = tl.arange(0, 32)  # the interpreter does not mind

@implementation(framework="triton", semantics="exact")
def broadcasts(w: MaskWorkload):
    def mask(topk_indices):
        refused[(1,)](topk_indices, topk_indices)

    return mask

@implementation(framework="triton", semantics="exact")
def ends(w: MaskWorkload):
    os._exit(7)
"""
COMPILE = """
import json, sys
from harness.core.case import Case
from tests.triton_corners import Corner
from tests.triton_matrix import compile_all

names = ("broadcasts", "ends", "broadcasts")
cases = [Case.of(f"mask/{name}", {}, {"seq": 64, "topk": 8}, "fwd", "cuda") for name in names]
print(json.dumps(compile_all(None, [(Corner(sys.argv[1], case), "cuda:sm_90") for case in cases])[1]))
"""


def run_python(*words):
    return subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("strength", [1, 2, 3])
def test_any_number_of_values_is_covered_pairwise(strength):
    rows = cover(AXES, strength)
    assert rows[0] == {name: value for axis in AXES for name, value in axis[0].items()}
    for axes in combinations(AXES, strength):
        for values in product(*axes):
            wanted = {name: value for chosen in values for name, value in chosen.items()}
            assert any(wanted.items() <= row.items() for row in rows), wanted


def test_every_kernel_and_every_template_has_corners(tmp_path):
    found = {corner.case.implementation for corner in corners(tmp_path, 0)}
    assert found == KERNELS | {f"{family}/new_{family}" for family in builtin().families}


@pytest.mark.full
def test_what_does_not_compile_is_reported_and_the_rest_goes_on(tmp_path):
    pytest.importorskip("triton")
    (tmp_path / "hidden.py").write_text(HIDDEN)
    done = run_python("-c", COMPILE, str(tmp_path / "hidden.py"))
    assert done.returncode == 0, done.stderr
    (first, why, _), (ended, code, _), (again, *_) = json.loads(done.stdout)
    assert (first, ended, again) == ("failed", "failed", "failed")
    assert "refused does not compile" in why
    assert "place" in why
    assert code == "the compiler ended its process: 7"


@pytest.mark.full
def test_corners_compile():
    """Few and many heads of an indexer, narrow and wide scores, and the kernels written by `new`."""
    pytest.importorskip("triton")
    names = ("triton_dsa", "triton_radix_select", "new_mask", "new_topk", "new_offsets")
    done = run_python(
        "-m", "tests.triton_matrix", "--cover", "each", "--targets", "cuda:sm_90", "--only", *names
    )
    assert done.returncode == 0, done.stdout + done.stderr
