"""What the plan of a GPU kernel warns of: idle multiprocessors, unused matrix units, addresses that overflow.

The predicates of sentences: `{s}` stands for the ending of their verb. They are empty where nothing is wrong.
"""

import math
from collections.abc import Sequence

from harness.catalog.accelerators import Target, target
from harness.core.grouped import collected
from harness.core.kernel_figures import KernelFigures

# Major compute capability → the path that is faster than a warp's matrix instructions, and its words. How far
# these get is published for Hopper alone: "about 2/3 the peak throughput of Hopper Tensor Cores" (note 1 of
# pytorch.org/blog/flashattention-3, after arXiv 2402.13499).
FAST_PATHS = {
    "9": ("wgmma", "warp-group matrix instructions (HGMMA): at most about two thirds of the GPU's peak"),
    "10": ("tcgen05", "tcgen05 matrix instructions, only those of a warp (HMMA)"),
}


def slow_path(kernel: KernelFigures, gpu: Target) -> str:
    """That matrix products take a slow path; without any instruction, where the source has products."""
    fast, words = FAST_PATHS.get(str(gpu.capability).partition(".")[0], ("mma", ""))
    paths = kernel.matrix_paths
    if paths == {} and kernel.products:
        return "compute{s} matrix products on general units, without matrix instructions"
    return f"use{{s}} no {words}" if paths and "mma" in paths and fast not in paths else ""


def idle(kernel: KernelFigures, gpu: Target) -> str:
    """That multiprocessors get no block. All blocks then run at once, so the kernel takes as long as one.

    Waves below 1 alone say nothing: a persistent kernel has one block on each multiprocessor.
    """
    blocks, count = math.prod(kernel.grid), gpu.accelerator.gpu["core_count"] if gpu.accelerator else 0
    if kernel.waves is None or blocks >= count:
        return ""
    some = f"{blocks} of {count} multiprocessors ({100 * blocks / count:.0f} %, {kernel.waves:.3g} waves)"
    return f"give{{s}} a block to {some}: bound by the latency of one block"


def overflow(kernel: KernelFigures, _: Target) -> str:
    """That an integer overflows in the address of an element: the kernel reads or writes elsewhere."""
    pointers = " and ".join(kernel.overflows)
    return pointers and f"compute{{s}} addresses of {pointers} in 32 bits, which overflow: use .to(tl.int64)"


def warning_sentences(kernels: Sequence[KernelFigures], name: str, owner: str = "") -> list[str]:
    """The warnings for the target of this name; kernels with the same share a sentence.

    `owner` is the case, as it follows a kernel's name: ` of triton_flash at 64Ki`.
    """
    if not kernels:
        return []  # as of the device of a run, which is no target
    gpu = target(name)
    warnings = (slow_path, idle, overflow)
    found = collected((warn(kernel, gpu), kernel.label) for kernel in kernels for warn in warnings)
    return [
        f"{' and '.join(names)}{owner} {said.format(s='' if len(names) > 1 else 's')}"
        for said, labels in found.items()
        if said and (names := list(dict.fromkeys(labels)))
    ]
