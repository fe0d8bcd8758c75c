"""`gate --static` on Triton kernels with changed launches: new spills are found on each GPU."""

from importlib.util import find_spec

import pytest

pytestmark = [
    pytest.mark.torch,
    pytest.mark.full,
    pytest.mark.skipif(find_spec("triton") is None, reason="the extra triton is not installed"),
]

KERNEL = '''\
"""Rows less their largest values: all of a row is alive until its largest is known."""

import triton
import triton.language as tl


@triton.jit
def less_largest(x, y, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = rows[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    values = tl.load(x + at)
    tl.store(y + at, values - tl.max(values, 1)[:, None])
'''
PLUGIN = '''\
"""Rows less their largest values, by one kernel."""

from dataclasses import dataclass

from seqsweep import Array, Family, Semantics, axis, exact, implementation

WIDTH = 1024


@dataclass(frozen=True)
class Rows:
    seq: int = axis()


FAMILY = Family(
    name="rows",
    question="What does a row less its largest value take?",
    workload=Rows,
    shapes=lambda w: {"x": Array((w.seq, WIDTH), "f32")},
    inputs=lambda w, rng: {"x": rng.integers(1, 100, (w.seq, WIDTH)).astype("f4")},
    semantics={"less": Semantics("less", lambda w, rows: lambda x: x - x.max(1, keepdims=True), exact())},
)


@implementation(framework="triton", semantics="less")
def blocks(w: Rows):
    import torch
    from kernel import less_largest

    def call(x):
        y = torch.empty_like(x)
        less_largest[(w.seq // 16,)](x, y, WIDTH, 16, num_warps=WARPS)
        return y

    return call
'''
BENCH = """\
plugins: [plugin.py]
defaults: {timeout: 60s, memory: 4GiB}
suites:
  rows: {family: rows, seq: 256}
"""
PLACES = tuple(
    f"kernel.py:{number}" for number, line in enumerate(KERNEL.splitlines(), 1) if "values" in line
)


def test_fewer_warps_that_spill_are_a_regression_with_its_line(gate, repositories):
    """With 16 warps a thread has 32 values, with one warp 512."""
    work = repositories("kernels")
    files = {"bench.yaml": BENCH, "kernel.py": KERNEL, ".gitignore": "results/\n"}
    work.commit({**files, "plugin.py": PLUGIN.replace("WARPS", "16")})
    work.write({"plugin.py": PLUGIN.replace("WARPS", "1")})
    said = gate(work, "--static", "--against", "git:HEAD", "--all", "--json")
    assert "Traceback" not in said.err
    assert said.code == 1, said.out
    (case,) = said.json["cases"]
    assert case["verdict"] == "regressed"
    assert (case["file"], case["line"] > 1) == (str(work.folder / "plugin.py"), True)
    for target in ("cuda:a100", "cuda:h100"):
        spills = f"{target}: less_largest: bytes spilled a thread 0 -> "
        assert spills in case["reason"]
        spilled, _, place = case["reason"].partition(spills)[2].partition(", most at ")
        assert int(spilled) > 0
        assert place.startswith(PLACES)
