"""Candidates for the tiles of the attention kernels, compiled alone and ranked by their figures.

A call of an implementation is traced over fake tensors with the present tile and with a candidate. The
launches that differ are those of the kernel, and only they are compiled.
"""

import math
import os
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, NamedTuple
from unittest.mock import patch

from harness.catalog import loading
from harness.catalog.accelerators import target
from harness.catalog.build import Built, build
from harness.core.case import Case
from harness.core.kernel_figures import KernelFigures

SCORES = (16, 64)  # of a tile per thread
RESULTS = 64  # elements of a tile's result per thread, at most
WARPS_PER_SM = 8  # two for each scheduler: one computes while the other waits
CONSUMER_SHARED = 99 << 10  # bytes; before sm_90 a line also holds for GPUs that have no more


@dataclass(frozen=True)
class Kernel:
    """The case that launches a kernel of the table, and the values that its candidates combine."""

    module: str
    mode: str = "fwd"
    workload: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[int] = (32, 64, 128)
    keys: Sequence[int] = (32, 64, 128)
    warps: Sequence[int] = (4, 8)
    stages: Sequence[int] = (2, 3)
    by_key: bool = False  # a program has `keys` rows of its result
    divided: bool = False  # keys divide rows
    checked: Sequence[int] = (1008, 1001)  # tokens of the contract checks
    free: bool = False  # a tile has few rows, so the limits per thread do not apply


# The second length leaves over a part of a tile that is no multiple of 16; MSLK's form takes whole blocks.
BLOCKS = (1088,)
GROUPS = {"heads": 16, "kv_heads": 1}
INDEXER = {"indexer_heads": 64, "indexer_dim": 128, "topk": 2048, "gated": False}
SMALL: dict[str, Any] = {"rows": (16,), "warps": (2, 4), "free": True}
KERNELS = {
    "flash.forward": Kernel("dense.triton_flash", workload={"gated": False}, divided=True),
    "flash.of_key": Kernel("dense.triton_flash", "bwd", workload={"gated": False}, by_key=True),
    "flash.of_query": Kernel("dense.triton_flash", "bwd", workload={"gated": False}, divided=True),
    "sparse.attend": Kernel("mslk.triton_nsa", checked=BLOCKS),
    "sparse.of_query": Kernel("mslk.triton_nsa", "bwd", checked=BLOCKS),
    "sparse.of_key": Kernel("mslk.triton_nsa", "bwd", checked=BLOCKS, by_key=True),
    "sparse.of_mean": Kernel("mslk.triton_nsa", "bwd", checked=BLOCKS, by_key=True),
    "sparse.pick": Kernel(
        "mslk.triton_nsa", checked=BLOCKS, rows=(16, 32, 64), keys=(32, 64), stages=(2,), free=True
    ),
    "sparse.attend_group": Kernel("fla.triton_nsa_fla", workload=GROUPS, **SMALL),
    "sparse.of_group": Kernel("fla.triton_nsa_fla", "bwd", workload=GROUPS, **SMALL),
    "sparse.attend_apart": Kernel("fla.triton_nsa_fla", workload=GROUPS),
    "sparse.attend_means": Kernel("fla.triton_nsa_fla", workload=GROUPS),
    "sparse.of_query_apart": Kernel("fla.triton_nsa_fla", "bwd", workload=GROUPS),
    "sparse.pick_query": Kernel(
        "fla.triton_nsa_fla", workload=GROUPS, rows=(16, 32, 64), keys=(32, 64), stages=(2,), free=True
    ),
    "sparse.pick_token": Kernel(
        "dsa.triton_dsa", workload=INDEXER, rows=(16,), keys=(32, 64, 128), stages=(1, 2), free=True
    ),
}


def case_of(kernel: Kernel, dtype: str, width: int, seq: int, mode: str, device: str) -> Case:
    heads = {"heads": 4, "kv_heads": 1, **kernel.workload}
    name = f"attention/{kernel.module.rpartition('.')[2]}"
    return Case.of(name, {}, {**heads, "dtype": dtype, "head_dim": width, "seq": seq}, mode, device)


def build_call(kernel: Kernel, dtype: str, width: int, seq: int, device: str = "cuda") -> Built:
    module = loading.load(f"impls.attention.{kernel.module}")
    return build(module, case_of(kernel, dtype, width, seq, kernel.mode, device))


def candidates(kernel: Kernel, width: int, present: Any, architecture: int) -> list[Any]:
    """The present tile and all others of a kernel that have neither too little nor too much per thread."""
    found = [present]
    least = 64 if architecture >= 90 else 16  # rows of a product
    for each in product(kernel.rows, kernel.keys, kernel.warps, kernel.stages):
        tile = present._replace(**dict(zip(present._fields, each, strict=True)))
        threads, rows = 32 * tile.warps, tile.keys if kernel.by_key else tile.rows
        fits = SCORES[0] <= tile.rows * tile.keys / threads <= SCORES[1] and rows * width / threads <= RESULTS
        fits = fits and rows >= least and (not kernel.divided or tile.rows % tile.keys == 0)
        if tile != present and (kernel.free or fits):
            found.append(tile)
    return found


class Launch(NamedTuple):
    """A launch: `call` repeats it, `key` describes it without its tensors.

    `changed` are integers that it wrote, with their values before: counters must start anew.
    """

    call: Callable[[], Any]
    name: str
    source: str
    grid: tuple[int, ...]
    key: Any
    changed: Sequence[tuple[Any, Any]]


@contextmanager
def noted_launches(*, running: bool) -> Generator[list[Launch]]:
    """A list of the launches, which are executed only if `running`."""
    from harness.worker.frameworks.triton.launches import InterpretedFunction, JITFunction

    noted: list[Launch] = []

    def noting(run: Callable[..., Any]) -> Callable[..., Any]:
        def note(self: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> Any:
            call = partial(run, self, *args, grid=grid, warmup=warmup, **options)
            values = {**dict(enumerate(args)), **options}
            plain = {name: value for name, value in values.items() if not hasattr(value, "data_ptr")}
            key = self.fn.__name__, grid, plain
            integers = [each for each in args if running and getattr(each, "element_size", None)]
            before = [(each, each.clone()) for each in integers if not each.is_floating_point()]
            result = call() if running else None
            changed = [(each, value) for each, value in before if not each.equal(value)]
            file = self.fn.__code__.co_filename
            noted.append(Launch(call, self.fn.__name__, file, grid, key, changed))
            return result

        return note

    with (
        patch.object(JITFunction, "run", noting(JITFunction.run)),
        patch.object(InterpretedFunction, "run", noting(InterpretedFunction.run)),
    ):
        yield noted


def differing(launches: Sequence[Launch], others: Sequence[Launch]) -> list[Launch]:
    """The launches that are not among the others: those that read the changed tile."""
    keys = [other.key for other in others]
    return [launch for launch in launches if launch.key not in keys]


class Job(NamedTuple):
    """A tile of a kernel to compile for a target: launches that the tile `other` changes, or None for all."""

    kernel: str
    dtype: str
    width: int
    lengths: tuple[int, ...]
    tile: Any
    other: Any
    target: str


def begin(architecture: int) -> None:
    """Prepare a process that compiles: for this GPU as if it were present, until its parent ends it."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    from harness.worker.frameworks.triton.launches import AbsentDevice

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    driver.set_active(AbsentDevice(GPUTarget("cuda", architecture, 32)))


def compile_tile(job: Job) -> list[list[KernelFigures]] | str:
    """The figures of the kernel's launches at each length, or the reason why it does not compile."""
    from harness.worker.frameworks.triton import kernel_compiler
    from harness.worker.frameworks.triton.launches import Launch as Compiled

    gpu, found = target(job.target), list[list[KernelFigures]]()
    try:
        for seq in job.lengths:
            mine = _traced(job, seq, job.tile)
            other = _traced(job, seq, job.other) if job.other else ()
            found.append([
                kernel_compiler.kernel_figures(
                    Compiled(each.name, each.source, each.grid, "", each.call()), 1, gpu
                )
                for each in differing(mine, other)
            ])  # fmt: skip
    except Exception as error:  # a compiler's passes may raise anything
        return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
    return found


def _traced(job: Job, seq: int, tile: Any) -> list[Launch]:
    from harness.worker.frameworks.base import TraceLimits
    from harness.worker.frameworks.triton.kernel_compiler import compile_launches
    from impls.attention._triton_tiles import forced

    kernel = KERNELS[job.kernel]
    with forced(job.kernel, tile), noted_launches(running=False) as noted:
        built = build_call(kernel, job.dtype, job.width, seq)
        compile_launches(built, kernel.mode, TraceLimits(120.0, 1 << 60))
    return noted


def ranked(figures: Mapping[Any, Sequence[KernelFigures]], architecture: int, *, by_key: bool) -> list[Any]:
    """The tiles that are worth a measurement, best first, from the figures of their launches.

    A tile is out if it spills or does not fit, or has no instructions of warp groups where others have. First
    are those with enough warps, then those for which a multiprocessor issues the fewest instructions.
    """
    shared = CONSUMER_SHARED if architecture < 90 else math.inf
    fit = {
        tile: kernels
        for tile, kernels in figures.items()
        if not any(each.refused or each.spilled_bytes or each.shared_bytes > shared for each in kernels)
    }
    fast = {tile: kernels for tile, kernels in fit.items() if all(map(_by_warp_groups, kernels))} or fit
    issued = {tile: _issued(kernels, tile, by_key=by_key) for tile, kernels in fast.items()}
    # What more stages add stands before the loop, so of equal tiles the one with most of them is first.
    equal = {tile: min(issued[other] for other in fast if other[:3] == tile[:3]) for tile in fast}
    return sorted(fast, key=lambda tile: (_is_idle(fast[tile]), equal[tile], -tile.stages))


def _by_warp_groups(kernel: KernelFigures) -> bool:
    return any(kernel.instructions.get(path) for path in ("wgmma", "tcgen05"))


def _is_idle(kernels: Sequence[KernelFigures]) -> bool:
    return min(each.blocks_per_sm * each.warps for each in kernels) < WARPS_PER_SM


def _issued(kernels: Sequence[KernelFigures], tile: Any, *, by_key: bool) -> float:
    """Instructions that the fullest multiprocessor issues, as far as tiles differ in them.

    A block loops over keys, or over rows if it owns keys; most of its code is in the loop.
    """
    own, step = (tile.keys, tile.rows) if by_key else (tile.rows, tile.keys)
    return sum(sum(each.instructions.values()) * each.warps * _blocks(each, own) / step for each in kernels)


def _blocks(kernel: KernelFigures, own: int) -> float:
    """Blocks of the fullest multiprocessor, or in proportion to them where their number is not known."""
    return 1 / own if kernel.waves is None else math.ceil(kernel.waves * kernel.blocks_per_sm)
