"""Triton kernels compile at corner cases that default options would miss; nothing is interpreted."""

import json
import subprocess
import sys

import pytest

from harness.catalog.discovery import builtin
from tests.cli.forked import ROOT
from tests.triton_corners import corners, cover, each

KERNELS = {info.id for info in builtin().implementations.values() if info.framework == "triton"}
HIDDEN = """
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
"""
COMPILE = """
import json, sys
from harness.core.case import Case
from tests.triton_corners import Corner
from tests.triton_matrix import compile_all

case = Case.of("mask/broadcasts", {}, {"seq": 64, "topk": 8}, "fwd", "cuda")
print(json.dumps(compile_all(None, 2 * [(Corner(sys.argv[1], case), "cuda:sm_90")])[1]))
"""


def run_python(*words):
    return subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_value_has_its_row():
    rows = cover([each("heads", 1, 8, 16), each("width", 64, 72), [{"block": 16, "seq": 32}]])
    assert rows[0] == {"heads": 1, "width": 64, "block": 16, "seq": 32}
    assert [row["heads"] for row in rows] == [1, 8, 16]
    assert {row["width"] for row in rows} == {64, 72}


def test_every_kernel_and_every_template_has_corners(tmp_path):
    found = {corner.case.implementation for corner in corners(tmp_path)}
    assert found == KERNELS | {f"{family}/new_{family}" for family in builtin().families}


@pytest.mark.full
def test_what_does_not_compile_is_reported_and_the_rest_goes_on(tmp_path):
    pytest.importorskip("triton")
    (tmp_path / "hidden.py").write_text(HIDDEN)
    done = run_python("-c", COMPILE, str(tmp_path / "hidden.py"))
    assert done.returncode == 0, done.stderr
    for outcome, why in json.loads(done.stdout):
        assert outcome == "failed"
        assert "refused does not compile" in why
        assert "place" in why


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("triton_radix_select", "new_mask", "new_topk", "new_offsets"), marks=pytest.mark.full),
        pytest.param(("triton_dsa",), marks=pytest.mark.long),
    ],
)
def test_corners_compile(names):
    """Few and many heads of an indexer, narrow and wide scores, and the kernels that `new` writes."""
    pytest.importorskip("triton")
    done = run_python("-m", "tests.triton_matrix", "--each", "--targets", "cuda:sm_90", "--only", *names)
    assert done.returncode == 0, done.stdout + done.stderr
