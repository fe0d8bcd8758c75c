"""The three wordings in which libtpu 0.0.52 says that a kernel needs too much VMEM, and another failure."""

import pytest

from harness.core.tpu_kernel_figures import OnChipOverflow
from harness.xla.on_chip_overflow import on_chip_overflow

MIB = 1 << 20
ALLOCATION = (
    "RESOURCE_EXHAUSTED: Allocation (size=33554432) would exceed memory (size=16777216) :: #allocation3 "
    "[shape = 'u8[33554432]{0}', space=vmem, size = 0x2000000, tag = 'input window allocation for "
    "operator input 0. The window shape is f32[1024,4096], and the full shape f32[8192,4096].'] :: _lambda_.1"
)
SCRATCH = (
    "RESOURCE_EXHAUSTED: Allocation (size=67108864) would exceed memory (size=16777216) :: #allocation3 "
    "[shape = 'f32[4096,4096]{1,0:T(8,128)}', space=vmem, tag = 'scratch operand'] :: call.1"
)
PREFETCHED = (
    "RESOURCE_EXHAUSTED: Allocation (size=2097152) would exceed memory (size=1048576) :: #allocation3 "
    "[shape = 'u8[2097152]{0}', space=smem, tag = 'prefetched SMEM operand 0'] :: call.1"
)
PROGRAM = """RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space vmem. \
Used 64.00M of 63.94M vmem. Exceeded vmem capacity by 64.0K.

Program vmem requirement 64.00M:
    scoped           64.00M

  Largest program allocations in vmem:

  1. Size: 32.00M
     Operator: op_name="jit(f)/pallas_call"
     Tag: output window allocation for operator output 0. The window shape is f32[1024,4096].

  2. Size: 32.00M
     Tag: input window allocation for operator input 0. The window shape is f32[1024,4096].
"""
KERNEL = """RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:
Ran out of memory in memory space vmem while allocating on stack for %double.1 = f32[8192,4096] \
custom-call(%x.1), custom_call_target="tpu_custom_call", metadata={op_name="jit(f)/pallas_call"}. Scoped \
allocation with size 32.00M and limit 16.00M exceeded scoped vmem limit by 16.00M.
See https://openxla.org/xla/errors/error_1001 for more details."""
SHARED = (
    "RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 589824, available: 232448, context: []"
)


@pytest.mark.parametrize(
    ("message", "overflow"),
    [
        (ALLOCATION, OnChipOverflow("vmem", 32 * MIB, 16 * MIB, "input 0", 32 * MIB)),
        (SCRATCH, OnChipOverflow("vmem", 64 * MIB, 16 * MIB, "scratch operand", 64 * MIB)),
        (PREFETCHED, OnChipOverflow("smem", 2 * MIB, MIB, "operand 0", 2 * MIB)),
        (PROGRAM, OnChipOverflow("vmem", 64 * MIB, round(63.94 * MIB), "output 0", 32 * MIB)),
        (KERNEL, OnChipOverflow("vmem", 32 * MIB, 16 * MIB)),
        (SHARED, OnChipOverflow("shared memory", 589824, 232448)),
    ],
    ids=["allocation", "scratch", "prefetched", "program", "kernel", "a GPU's"],
)
def test_each_wording_is_one_outcome(message, overflow):
    assert on_chip_overflow(message) == overflow


@pytest.mark.parametrize(
    "message",
    [
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 113.1G of 95.00G hbm.",
        "INTERNAL: Mosaic failed to compile TPU kernel: unsupported",
    ],
)
def test_anything_else_is_none(message):
    assert on_chip_overflow(message) is None


def test_the_sentence_names_the_operand_and_the_way_out():
    asks = OnChipOverflow("vmem", 32 * MIB, 16 * MIB, "input 0", 16 * MIB)
    assert asks.sentence(64 * MIB) == (
        "needs 32.0 MiB of VMEM, 16.0 MiB more than it gets: input 0 alone takes 16.0 MiB; "
        "use smaller blocks, or vmem_limit_bytes up to 64.0 MiB"
    )
    of_gpu = OnChipOverflow("shared memory", 2 * MIB, MIB).sentence()
    assert of_gpu == "needs 2.00 MiB of shared memory, 1.00 MiB more than it gets; use smaller blocks"
    assert OnChipOverflow("vmem", 128 * MIB, 64 * MIB).sentence(64 * MIB).endswith("; use smaller blocks")
