"""`gate --static` on Triton kernels whose launches are changed: what spills now is found, on each GPU."""

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
"""Rows less their largest values, by one kernel launched in two ways."""

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


def launching(w, block, warps):
    import torch
    from kernel import less_largest

    def call(x):
        y = torch.empty_like(x)
        less_largest[(w.seq // block,)](x, y, WIDTH, block, num_warps=warps)
        return y

    return call


@implementation(framework="triton", semantics="less")
def by_warps(w: Rows):
    return launching(w, 16, warps=%(warps)s)


@implementation(framework="triton", semantics="less")
def by_block(w: Rows):
    return launching(w, %(block)s, warps=16)
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


@pytest.fixture(scope="module")
def work(repositories):
    """A repository whose kernels hold 32 values a thread."""
    made = repositories("kernels")
    plugin = PLUGIN % {"warps": 16, "block": 16}
    made.commit({"bench.yaml": BENCH, "kernel.py": KERNEL, "plugin.py": plugin, ".gitignore": "results/\n"})
    return made


def kernels_of(gate, work, **launch):
    work.write({"plugin.py": PLUGIN % {"warps": 16, "block": 16, **launch}})
    said = gate(work, "--static", "--against", "git:HEAD", "--all", "--json")
    assert "Traceback" not in said.err
    return said, {case["case"].split("@")[0].split("/")[1]: case for case in said.json["cases"]}


def test_fewer_warps_and_larger_blocks_that_spill_are_regressions_with_their_line(gate, work):
    said, cases = kernels_of(gate, work, warps=1, block=256)
    assert said.code == 1, said.out
    for case in cases.values():
        assert case["verdict"] == "regressed"
        assert (case["file"], case["line"] > 1) == (str(work.folder / "plugin.py"), True)
        for target in ("cuda:a100", "cuda:h100"):
            spills = f"{target}: less_largest: bytes spilled a thread 0 -> "
            assert spills in case["reason"]
            spilled, _, place = case["reason"].partition(spills)[2].partition(", most at ")
            assert int(spilled) > 0
            assert place.startswith(PLACES)


@pytest.mark.long
def test_an_unchanged_tree_is_silent(gate, work):
    said, cases = kernels_of(gate, work)
    assert said.code == 0, said.out
    assert {case["verdict"] for case in cases.values()} == {"unchanged"}
    assert not any(case["notes"] for case in cases.values())
