"""Roofline ceilings of this machine: FLOP/s of matrix products by dtype, bandwidth by working set.

`python -m harness.worker.frameworks.torch.ceilings DEVICE THREADS` prints them as JSON. torch is configured
as for a measured case. The clock is that of profiles: the host's clock, or device events. Ceilings are
measured with torch's own kernels, and are below the hardware's peaks.
"""

import json
import math
import os
import random
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch

from harness.core.errors import Unsupported
from harness.core.machine import caches, usable_memory
from harness.core.median_interval import samples_needed
from harness.worker import resource_limits
from harness.worker.frameworks.torch.arrays import DTYPES
from harness.worker.frameworks.torch.framework import Torch

SIDES = (256, 512, 1024, 2048, 4096, 8192)  # of square matrices
LONGEST_S = 0.5  # maximum predicted time of a matrix product
SETS = tuple(1 << power for power in range(15, 31))  # working sets in bytes: 32 KiB to 1 GiB
MEMORY_SHARE = 8  # the largest working set is at most 1/8 of the memory
SWEEP_BYTES = 1 << 22  # minimum per call of a sum, which reads small sets repeatedly
SAMPLE_S = 0.004
ROUNDS = 11
BUDGET_S = 30.0

Read = Callable[[Callable[[], Any], int], float]


@dataclass(frozen=True)
class Kernel:
    """A call with known work: FLOPs in `dtype`, or bytes if that is empty.

    `size` is a matrix's side, or a stream's working set in bytes.
    """

    name: str
    dtype: str
    size: int
    work: float
    call: Callable[[], Any]


def matrix_products(device: torch.device, read: Read) -> Generator[Kernel]:
    """Square matrix products per dtype, in every size that takes at most LONGEST_S.

    On a cpu, small products often have the highest rate, because their operands stay in its caches.
    """
    kinds = ["f64", "f32", "bf16", *(["tf32", "f16"] if device.type == "cuda" else [])]
    for kind in kinds:
        for side in SIDES:
            kernel = Kernel("matrix product", kind, side, 2.0 * side**3, _product(device, kind, side))
            try:
                kernel.call()
            except RuntimeError:
                break  # not supported on this device
            yield kernel
            if 8 * min(read(kernel.call, 1) for _ in range(3)) > LONGEST_S:
                break


def _product(device: torch.device, kind: str, side: int) -> Callable[[], Any]:
    dtype = torch.float32 if kind == "tf32" else DTYPES[kind]
    a, b, out = (torch.ones(side, side, dtype=dtype, device=device) for _ in range(3))
    if kind != "tf32":
        return lambda: torch.mm(a, b, out=out)

    def product() -> None:
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.mm(a, b, out=out)
        torch.backends.cuda.matmul.allow_tf32 = False

    return product


def streams(device: torch.device, threads: int, memory_bytes: int) -> Generator[Kernel]:
    """Copy, triad (see STREAM) and sum over working sets of every size, in one resident array."""
    sizes = [size for size in SETS if size <= max(SETS[0], memory_bytes // MEMORY_SHARE)]
    array = torch.ones(sizes[-1] // 4, device=device)
    parts = threads if device.type == "cpu" else 1
    for size in sizes:
        half = size // 8
        x, y = array[:half], array[half : 2 * half]
        yield Kernel("copy", "", size, 8 * half, lambda x=x, y=y: y.copy_(x))
        yield Kernel("triad", "", size, 12 * half, lambda x=x, y=y: torch.add(x, y, alpha=0.5, out=y))
        count = max(1, SWEEP_BYTES // size)
        # Each thread reads its own part repeatedly, so that the call's overhead is negligible.
        each = size // 4 // parts
        rows = array[: parts * each].view(parts, 1, each).expand(parts, count, each)
        sums = torch.empty(parts, count, device=device)
        work = 4.0 * parts * each * count
        yield Kernel("sum", "", size, work, lambda rows=rows, sums=sums: torch.sum(rows, -1, out=sums))


def reader(framework: Torch) -> Read:
    """A function that times a call: mean seconds over `inner` calls between two marks."""
    mark, span = framework.marks()

    def read(call: Callable[[], Any], inner: int) -> float:
        framework.sync(None)
        start = mark()
        for _ in range(inner):
            call()
        end = mark()
        framework.sync(None)
        return span(start, end) / inner

    return read


def sample(
    kernels: Sequence[Kernel], read: Read, now: Callable[[], float] = perf_counter, budget_s: float = BUDGET_S
) -> list[list[float]]:
    """Measure work per second of every kernel, in ROUNDS rounds with random order.

    If the budget is exhausted there are fewer rounds, but enough for a confidence interval.
    """
    until = now() + budget_s
    inner: list[int] = []
    for kernel in kernels:
        kernel.call()
        inner.append(max(1, math.ceil(SAMPLE_S / max(read(kernel.call, 1), 1e-7))))
    rates: list[list[float]] = [[] for _ in kernels]
    order, shuffle = list(range(len(kernels))), random.Random(0)
    for done in range(ROUNDS):
        if done >= samples_needed() and now() > until:
            break
        shuffle.shuffle(order)
        for place in order:
            rates[place].append(kernels[place].work / read(kernels[place].call, inner[place]))
    return rates


def measure(device_name: str, threads: int) -> dict[str, Any]:
    """Measure all kernels on a device. Raises Unsupported if torch does not run on it."""
    framework = Torch()
    if device_name == "cpu":
        resource_limits.pin(threads)
    framework.start(device_name, threads, wide=True)
    framework.enter("fwd", wide=True)
    read, device = reader(framework), torch.device(device_name)
    if device.type == "cpu":
        memory, cache_sizes = usable_memory(), caches(sorted(os.sched_getaffinity(0))[:threads])
    else:
        gpu = torch.cuda.get_device_properties(device)
        memory, cache_sizes = gpu.total_memory, {"L2": gpu.L2_cache_size}
    kernels = [*matrix_products(device, read), *streams(device, threads, memory)]
    readings = [
        {"kernel": kernel.name, "dtype": kernel.dtype, "size": kernel.size, "per_second": rates}
        for kernel, rates in zip(kernels, sample(kernels, read), strict=True)
    ]
    return {"caches": cache_sizes, "readings": readings}


if __name__ == "__main__":
    try:
        json.dump(measure(sys.argv[1], int(sys.argv[2])), sys.stdout)
    except Unsupported as error:
        sys.exit(str(error))
