"""Parsing of the compilers' errors for kernels that exceed on-chip memory (shared memory, VMEM, SMEM).

XLA has one message for a GPU's shared memory. libtpu 0.0.52 has three: a single allocation exceeds the
memory; the program does, listing its largest allocations; or a kernel exceeds the limit of scoped VMEM,
without naming an operand.
"""

import re

from harness.core.tpu_kernel_figures import OnChipOverflow

ALLOCATION = re.compile(r"Allocation \(size=(\d+)\) would exceed memory \(size=(\d+)\).*?space=(vmem|smem)")
PROGRAM = re.compile(r"Ran out of memory in memory space (vmem|smem)\. Used ([\d.]+[BKMG]) of ([\d.]+[BKMG])")
KERNEL = re.compile(
    r"memory space (vmem|smem) while allocating.*?Scoped allocation with size ([\d.]+[BKMG]) "
    r"and limit ([\d.]+[BKMG])",
    re.DOTALL,
)
SHARED = re.compile(r"Shared memory size limit exceeded: requested (\d+), available: (\d+)")
LARGEST = re.compile(r"1\. Size: ([\d.]+[BKMG])\n")
OPERAND = re.compile(
    r"(?:window allocation for operator |prefetched SMEM )?(input \d+|output \d+|operand \d+)"
)
TAG = re.compile(r"(?:Tag: |tag = ')([^.'\n]*)")
UNITS = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def on_chip_overflow(message: str) -> OnChipOverflow | None:
    """The overflow in a compiler's error; None if it is about something else, such as HBM."""
    tag = TAG.search(message)
    operand = OPERAND.search(tag[1]) if tag else None
    named = operand[1] if operand else tag[1] if tag else ""
    if found := ALLOCATION.search(message):
        size = int(found[1])
        return OnChipOverflow(found[3], size, int(found[2]), named, size)
    if found := SHARED.search(message):
        return OnChipOverflow("shared memory", int(found[1]), int(found[2]))
    if found := PROGRAM.search(message):
        largest = LARGEST.search(message)
        held = _bytes(largest[1]) if largest and named else 0
        return OnChipOverflow(found[1], _bytes(found[2]), _bytes(found[3]), named, held)
    if found := KERNEL.search(message):
        return OnChipOverflow(found[1], _bytes(found[2]), _bytes(found[3]))
    return None


def _bytes(text: str) -> int:
    return round(float(text[:-1]) * UNITS[text[-1]])
