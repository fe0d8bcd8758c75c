"""Warnings about a compiled GPU kernel: idle multiprocessors, unused matrix units, address overflow.

Each function returns the predicate of a sentence, where `{s}` is the ending of the verb, or an empty text.
"""

import math
from collections.abc import Callable, Sequence

from harness.catalog.accelerators import Target, target
from harness.core.grouped import collected
from harness.core.kernel_figures import KernelFigures

# Major compute capability → the path that is faster than warp-level matrix instructions, and its description.
# The limit of warp-level ones is published only for Hopper: "about 2/3 the peak throughput of Hopper Tensor
# Cores" (note 1 of pytorch.org/blog/flashattention-3, after arXiv 2402.13499).
FAST_PATHS = {
    "9": ("wgmma", "warp-group matrix instructions (HGMMA): at most about two thirds of the GPU's peak"),
    "10": ("tcgen05", "tcgen05 matrix instructions, only warp-level ones (HMMA)"),
}

Warn = Callable[[KernelFigures, Target], str]


def slow_path(kernel: KernelFigures, gpu: Target) -> str:
    """The warning about matrix products on a slow path, or without matrix instructions."""
    fast, words = FAST_PATHS.get(str(gpu.capability).partition(".")[0], ("mma", ""))
    paths = kernel.matrix_paths
    if paths == {} and kernel.products:
        return "compute{s} matrix products without matrix instructions"
    return f"use{{s}} no {words}" if paths and "mma" in paths and fast not in paths else ""


def idle(kernel: KernelFigures, gpu: Target) -> str:
    """The warning about multiprocessors without a block: the kernel then takes as long as one block.

    Fewer than 1 wave is not a reason by itself: a persistent kernel has one block on each multiprocessor.
    """
    blocks, count = math.prod(kernel.grid), gpu.accelerator.gpu["core_count"] if gpu.accelerator else 0
    if kernel.waves is None or blocks >= count:
        return ""
    some = f"{blocks} of {count} multiprocessors ({100 * blocks / count:.0f} %, {kernel.waves:.3g} waves)"
    return f"use{{s}} only {some}, so the latency of one block limits it"


def overflow(kernel: KernelFigures, _: Target) -> str:
    """The warning about integer overflow in an address, which makes the kernel access other memory."""
    pointers = " and ".join(kernel.overflows)
    return pointers and f"compute{{s}} addresses of {pointers} in 32 bits, which overflow; use .to(tl.int64)"


WARNINGS = (slow_path, idle, overflow)


def warning_sentences(
    kernels: Sequence[KernelFigures], name: str, owner: str = "", warnings: Sequence[Warn] = WARNINGS
) -> list[str]:
    """The warnings for the target of this name; kernels with equal warnings share a sentence.

    `owner` is the case, to append to a kernel's name: ` of triton_flash at 64Ki`. Only these `warnings`.
    """
    if not kernels:
        return []  # for example for the device of a run, which is not a target
    gpu = target(name)
    found = collected((warn(kernel, gpu), kernel.label) for kernel in kernels for warn in warnings)
    return [
        f"{' and '.join(names)}{owner} {text.format(s='' if len(names) > 1 else 's')}"
        for text, labels in found.items()
        if text and (names := list(dict.fromkeys(labels)))
    ]
