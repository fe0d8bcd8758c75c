"""The Pallas kernels of a traced program, with the figures that jax has before compilation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
from jax.experimental.pallas import tpu as pltpu
from jax.extend import core
from jax.sharding import SingleDeviceSharding

from harness.catalog.accelerators import Target
from harness.core.grouped import grouped
from harness.core.tpu_kernel_figures import LANES, OperandBlock, TpuKernelFigures
from harness.xla.hlo import Graph
from harness.xla.mosaic import mosaic_kernels
from harness.xla.on_chip_overflow import on_chip_overflow

SUBLANES = 8  # rows of a register, of 32 bits


@dataclass(frozen=True)
class LoweredKernel:
    """A kernel; `alone` is a lowered program of nothing else. A core has `core_bytes` of VMEM."""

    figures: TpuKernelFigures
    alone: Any
    core_bytes: int


def pallas_kernels(jaxpr: Any, device: Any, target: Target) -> list[LoweredKernel]:
    """The kernels of a program in the order of their calls, equal ones merged; only for a TPU."""
    if target.accelerator is None or target.kind != "tpu":
        return []
    calls = [
        _lower_kernel(equation, device, target.accelerator.kernel_vmem_bytes)
        for equation in pallas_calls(jaxpr.jaxpr)
    ]
    alike = grouped(calls, lambda call: (call.figures.label, call.figures.program))
    return [replace(same[0], figures=replace(same[0].figures, calls=len(same))) for same in alike.values()]


def compile_alone(kernel: LoweredKernel) -> TpuKernelFigures:
    """Compile a kernel alone: its figures with its VMEM, or with why that does not suffice."""
    try:
        compiled = kernel.alone.compile()
    except jax.errors.JaxRuntimeError as error:
        overflow = on_chip_overflow(str(error))
        if overflow is None:
            raise
        needed = overflow.needed_bytes if overflow.memory == "vmem" else None
        return replace(kernel.figures, vmem_bytes=needed, refused=overflow.sentence(kernel.core_bytes))
    (module,) = compiled.runtime_executable().hlo_modules()
    ((_, vmem_bytes),) = mosaic_kernels(Graph.of(module))
    return replace(kernel.figures, vmem_bytes=vmem_bytes)


def pallas_calls(jaxpr: Any) -> Iterator[Any]:
    """The equations of a jaxpr, and of its inner jaxprs such as loops' bodies, that call a kernel."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "pallas_call":
            yield equation
        else:
            for inner in core.jaxprs_in_params(equation.params):
                yield from pallas_calls(inner)


def name_and_place(call: Any) -> tuple[str, str]:
    """(a kernel's name, `file:line` of its function)."""
    name, _, place = call.params["jaxpr"].debug_info.func_src_info.partition(" at ")
    return call.params["name"] or name, Path(place).name


def _lower_kernel(equation: Any, device: Any, limit_bytes: int) -> LoweredKernel:
    params = equation.params
    mapping, kernel = params["grid_mapping"], params["jaxpr"]
    here = SingleDeviceSharding(device)
    operands = [
        jax.ShapeDtypeStruct(operand.aval.shape, operand.aval.dtype, sharding=here)
        for operand in equation.invars
    ]
    alone = jax.jit(lambda *arrays: equation.primitive.bind(*arrays, **params)).lower(*operands)
    hlo: Any = alone.compiler_ir("hlo")
    ((program, _),) = mosaic_kernels(Graph.of(hlo.get_hlo_module()))
    grid = tuple(size if isinstance(size, int) else -1 for size in mapping.grid)
    scratch = [aval for aval in mapping.scratch_avals if not _is_semaphore(aval)]
    asked = getattr(params["compiler_params"], "vmem_limit_bytes", None)
    name, place = name_and_place(equation)
    figures = TpuKernelFigures(
        kernel=name,
        source=place,
        grid=grid,
        steps=-1 if -1 in grid else math.prod(grid),
        vmem_bytes=None,
        vmem_limit_bytes=asked or limit_bytes,
        scratch_bytes=sum(math.prod(aval.shape) * aval.dtype.itemsize for aval in scratch),
        semaphores=sum(math.prod(aval.shape) for aval in mapping.scratch_avals if _is_semaphore(aval)),
        blocks=tuple(_blocks(mapping, kernel)),
        program=program,
        author_flops=params["cost_estimate"].flops if params["cost_estimate"] is not None else None,
    )
    return LoweredKernel(figures, alone, pltpu.get_tpu_info().vmem_capacity_bytes)


def _blocks(mapping: Any, kernel: Any) -> Iterator[OperandBlock]:
    """The blocks of prefetched scalars, inputs and outputs, by the kernel's parameter names."""
    views = [(aval, aval) for aval in mapping.index_map_avals[len(mapping.grid) :]]
    views += [(block.array_aval, block.transformed_block_aval) for block in mapping.block_mappings]
    names = kernel.debug_info.safe_arg_names(len(kernel.invars))
    for name, (array, block) in zip(names, views, strict=False):  # further names are scratch
        space = str(block.memory_space)
        memory = {"default": "vmem", "index": "smem"}.get(space, space)
        tile = SUBLANES * max(1, 4 // block.dtype.itemsize), LANES
        yield OperandBlock(name, array.shape, block.shape, str(block.dtype), memory, tile)


def _is_semaphore(aval: Any) -> bool:
    return str(aval.memory_space) == "semaphore_mem"
