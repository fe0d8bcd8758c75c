"""Launches that belong to a traced call, and overflow of their offsets."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.torch
def test_launches_while_binding_are_not_recorded():
    pytest.importorskip("triton")
    from harness.worker.frameworks.triton.launches import Launch, Recorder

    recorder = Recorder()

    def bind(inputs, cotangent):
        recorder.launches.append(Launch("forward", "flash.py:1", (1,)))
        return lambda: recorder.launches.append(Launch("backward", "flash.py:9", (1,)))

    recorder.of_timed_call(bind)({}, None)()
    assert [launch.kernel for launch in recorder.launches] == ["backward"]


ROOT = Path(__file__).resolve().parents[4]
HEAD = """\
tt.func public @kernel(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"(#loc)), %n: i32 loc("n"(#loc))) {
    %c64_i32 = arith.constant 64 : i32 loc(#loc1)
    %c0_i32 = arith.constant 0 : i32 loc(#loc1)
    %row = tt.get_program_id x : i32 loc(#loc2)
    %head = tt.get_program_id y : i32 loc(#loc2)
    %at = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc3)
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc(#loc3)
"""
GIB = 1 << 30


def line(operation):
    return f"    {operation} loc(#loc9)\n"


def addresses(*operations):
    """The IR of a kernel with these operations; the last value is added to its pointer."""
    *before, last = operations
    kind = last.rpartition(" : ")[2].rpartition(" -> ")[2].rpartition(" to ")[2]
    value = last.partition(" = ")[0]
    return HEAD + "".join(map(line, [*before, last, f"%p = tt.addptr %x, {value} : !tt.ptr<f32>, {kind}"]))


def overflowing(ttir, n, grid=(65536,), elements=4 * GIB):
    import torch

    from harness.worker.frameworks.triton.launches import overflowing_pointers

    return overflowing_pointers(ttir, grid, {"x": torch.empty(elements, device="meta"), "n": n, "BLOCK": 64})


START = "%start = arith.muli %row, %n : i32"
WIDE = ("%wide = arith.extsi %row : i32 to i64", "%start = arith.muli %wide, %n : i64")
GROUP = ("%group = arith.divsi %row, %c64_i32 : i32", "%start = arith.muli %group, %n : i32")
PLACE = ("%place = arith.remsi %row, %c64_i32 : i32", "%start = arith.muli %place, %n : i32")
READ = ("%read = tt.load %x : !tt.ptr<i32>", "%start = arith.muli %read, %n : i32")


@pytest.mark.torch
@pytest.mark.parametrize(
    ("operations", "n", "grid", "overflows"),
    [
        ([START], 32768, (65536,), False),  # 65535 · 32768 < 2³¹
        ([START], 32769, (65537,), True),
        ([START], 65536, (32768,), False),
        ([START], 65536, (32769,), True),  # 2³¹ exactly
        (WIDE, 1 << 20, None, False),
        ([START, "%late = arith.extsi %start : i32 to i64"], 65536, None, True),  # cast after the product
        (["%each = arith.muli %head, %n : i32"], 1 << 20, None, False),  # its grid has one axis
        (["%each = arith.muli %head, %n : i32"], 1 << 20, (1, 4096), True),
        (GROUP, 1 << 21, None, False),
        (GROUP, 1 << 22, None, True),
        (PLACE, 1 << 25, None, False),
        (PLACE, 1 << 26, None, True),
        (READ, 1 << 30, None, False),
    ],
)
def test_offset_overflows_follow_from_grid_arguments_and_constants(operations, n, grid, overflows):
    assert overflowing(addresses(*operations), n, grid or (65536,)) == (("x",) if overflows else ())


@pytest.mark.torch
def test_a_tensor_of_2_to_the_31_elements_fits_32_bit_offsets():
    sums = ["%first = arith.muli %row, %c64_i32 : i32", "%firsts = tt.splat %first : i32 -> tensor<64xi32>"]
    sums += ["%offsets = arith.addi %firsts, %at : tensor<64xi32>"]
    ttir = HEAD + "".join(map(line, sums))
    ttir += line("%p = tt.addptr %xs, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>")
    assert overflowing(ttir, 1, (1 << 25,), 1 << 31) == ()
    assert overflowing(ttir, 1, ((1 << 25) + 1,), (1 << 31) + 64) == ("x",)


@pytest.mark.torch
def test_a_smaller_tensor_needs_no_more_than_32_bits():
    assert overflowing(addresses(START), 65536, elements=2 * GIB - 1) == ()
    assert overflowing(addresses(START), 65536, elements=2 * GIB) == ("x",)


KERNELS = """\
import triton
import triton.language as tl


@triton.jit
def narrow(x, out, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    for first in range(0, n, BLOCK):
        tl.store(out + row, tl.sum(tl.load(x + row * n + first + at, mask=first + at < n), 0))


@triton.jit
def wide(x, out, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    for first in range(0, n, BLOCK):
        tl.store(out + row, tl.sum(tl.load(x + row * n + first + at, mask=first + at < n), 0))


@triton.jit
def moving(x, out, n, BLOCK: tl.constexpr):
    places = x + tl.program_id(0) * n + tl.arange(0, BLOCK)
    for _ in range(0, n, BLOCK):
        tl.store(places, 0)
        places += BLOCK


@triton.jit
def moving_wide(x, out, n, BLOCK: tl.constexpr):
    places = x + tl.program_id(0).to(tl.int64) * n + tl.arange(0, BLOCK)
    for _ in range(0, n, BLOCK):
        tl.store(places, 0)
        places += BLOCK
"""
SCRIPT = """
import json, sys
from harness.worker.frameworks.triton.kernel_file import plan_kernel

planned = {}
for name in ("narrow", "wide", "moving", "moving_wide"):
    for n in (32768, 65536):
        args = f"x=bf16[65536,{n}], out=bf16[65536], n={n}, BLOCK=1024"
        question = {"file": sys.argv[1], "kernel": name, "args": args, "grid": "65536"}
        question |= {"cache": sys.argv[2], "targets": ["cuda:h100"]}
        planned[f"{name} {n}"] = plan_kernel(question)["cuda:h100"]["kernels"][0]["overflows"]
print(json.dumps(planned))
"""


@pytest.mark.torch
@pytest.mark.full
def test_the_ir_of_the_installed_triton(tmp_path):
    pytest.importorskip("triton")
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)
    command = [sys.executable, "-c", SCRIPT, str(file), str(tmp_path / "cache")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    planned = json.loads(done.stdout.splitlines()[-1])
    assert [name for name, pointers in planned.items() if pointers] == ["narrow 65536", "moving 65536"]
    assert planned["narrow 65536"] == ["x"]
