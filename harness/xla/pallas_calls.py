"""The Pallas kernels of a traced program: what jax knows of each before a compiler has seen it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
from jax.extend import core

from harness.core.grouped import grouped
from harness.core.tpu_kernel_figures import LANES, OnChipOverflow, OperandBlock, TpuKernelFigures
from harness.xla.hlo import Graph
from harness.xla.mosaic import mosaic_kernels
from harness.xla.on_chip_overflow import on_chip_overflow

SUBLANES = 8  # of 32 bits


@dataclass(frozen=True)
class PallasCall:
    """A kernel of a program; `lowered` is a program of it alone."""

    figures: TpuKernelFigures
    lowered: Any


def pallas_calls(jaxpr: Any, sharding: Any, limit_bytes: int) -> list[PallasCall]:
    """The kernels of a program in the order of their calls, equal ones once.

    `sharding` is where the operands lie; `limit_bytes` of VMEM has a kernel that asks for no more.
    """
    calls = [_call(equation, sharding, limit_bytes) for equation in _equations(jaxpr.jaxpr)]
    alike = grouped(calls, lambda call: (call.figures.label, call.figures.grid, call.figures.program))
    return [replace(same[0], figures=replace(same[0].figures, calls=len(same))) for same in alike.values()]


def compiled_alone(call: PallasCall, core_bytes: int) -> TpuKernelFigures:
    """A kernel with its VMEM, or why there is not enough; `core_bytes` has the core in all."""
    try:
        compiled = call.lowered.compile()
    except jax.errors.JaxRuntimeError as error:
        overflow = on_chip_overflow(str(error))
        if overflow is None:
            raise
        needed = overflow.needed_bytes if overflow.memory == "vmem" else None
        return replace(call.figures, vmem_bytes=needed, refused=overflow.sentence(core_bytes))
    (module,) = compiled.runtime_executable().hlo_modules()
    ((_, given),) = mosaic_kernels(Graph.of(module))
    return replace(call.figures, vmem_bytes=given)


def _equations(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        if equation.primitive.name == "pallas_call":
            yield equation
        else:
            for inner in core.jaxprs_in_params(equation.params):
                yield from _equations(inner)


def _call(equation: Any, sharding: Any, limit_bytes: int) -> PallasCall:
    params = equation.params
    mapping, kernel = params["grid_mapping"], params["jaxpr"]
    shapes = [
        jax.ShapeDtypeStruct(operand.aval.shape, operand.aval.dtype, sharding=sharding)
        for operand in equation.invars
    ]
    lowered = jax.jit(lambda *operands: equation.primitive.bind(*operands, **params)).lower(*shapes)
    ((program, _),) = mosaic_kernels(Graph.of(lowered.compiler_ir("hlo").get_hlo_module()))
    grid = tuple(size if isinstance(size, int) else -1 for size in mapping.grid)
    held = [aval for aval in mapping.scratch_avals if not _is_semaphore(aval)]
    asked = getattr(params["compiler_params"], "vmem_limit_bytes", None)
    estimate = params["cost_estimate"]
    name, _, place = kernel.debug_info.func_src_info.partition(" at ")
    figures = TpuKernelFigures(
        kernel=params["name"] or name,
        source=Path(place).name,
        grid=grid,
        steps=-1 if -1 in grid else math.prod(grid),
        vmem_bytes=None,
        vmem_limit_bytes=asked or limit_bytes,
        scratch_bytes=sum(math.prod(aval.shape) * aval.dtype.itemsize for aval in held),
        semaphores=sum(math.prod(aval.shape) for aval in mapping.scratch_avals if _is_semaphore(aval)),
        blocks=tuple(_blocks(mapping, kernel)),
        program=program,
        author_flops=estimate.flops if estimate is not None else None,
    )
    return PallasCall(figures, lowered)


def _blocks(mapping: Any, kernel: Any) -> Iterator[OperandBlock]:
    """Prefetched scalars, inputs and outputs, as the kernel calls them."""
    prefetched = [aval for aval in mapping.index_map_avals[len(mapping.grid) :]]
    views = [(aval, aval) for aval in prefetched]
    views += [(block.array_aval, block.transformed_block_aval) for block in mapping.block_mappings]
    names = kernel.debug_info.safe_arg_names(len(kernel.invars))
    for name, (array, block) in zip(names, views, strict=False):  # scratch follows
        space = str(block.memory_space)
        words = max(1, 4 // block.dtype.itemsize)
        memory = {"default": "vmem", "index": "smem"}.get(space, space)
        yield OperandBlock(name, array.shape, block.shape, str(block.dtype), memory, (SUBLANES * words, LANES))


def _is_semaphore(aval: Any) -> bool:
    return str(aval.memory_space) == "semaphore_mem"
