"""The Pallas kernels of a traced program, with the figures that jax knows before compilation."""

from __future__ import annotations

import base64
import importlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import jax
from jax.experimental.pallas import tpu as pltpu
from jax.extend import core
from jax.sharding import SingleDeviceSharding

from harness.catalog.accelerators import Target
from harness.core.grouped import grouped
from harness.core.kernel_figures import LANES, OnChipOverflow, OperandBlock, TpuKernelFigures
from harness.xla.hlo import Graph

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
TARGET = "tpu_custom_call"
BODY = re.compile(r'"body": ?"([^"]+)"')
SCOPED = re.compile(r'"used_scoped_memory_configs":\[([^\]]*)\]')
VMEM = re.compile(r'"memory_space":"1","offset":"\d+","size":"(\d+)"')  # memory space 1
SUBLANES = 8  # rows of a register, of 32 bits


def on_chip_overflow(message: str) -> OnChipOverflow | None:
    """The overflow in a compiler's error; None if the error is about something else, such as HBM.

    XLA has one message for a GPU's shared memory. libtpu 0.0.52 has three: a single allocation exceeds the
    memory; the program does, listing its largest allocations; or a kernel exceeds the limit of scoped VMEM,
    without naming an operand.
    """
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
        used = _bytes(largest[1]) if largest and named else 0
        return OnChipOverflow(found[1], _bytes(found[2]), _bytes(found[3]), named, used)
    if found := KERNEL.search(message):
        return OnChipOverflow(found[1], _bytes(found[2]), _bytes(found[3]))
    return None


def _bytes(text: str) -> int:
    return round(float(text[:-1]) * UNITS[text[-1]])


class MosaicKernel(NamedTuple):
    program: str
    vmem_bytes: int | None


def mosaic_kernels(graph: Graph) -> Iterator[MosaicKernel]:
    """The kernels of a module in order, without libtpu's own fusions, which have no body.

    A kernel is a custom call. Its backend configuration contains the body (MLIR in base64) and its memory.
    XLA's own hash of a module does not cover them.
    """
    for instruction in graph.instructions:
        body = BODY.search(instruction.attributes)
        if instruction.target == TARGET and body:
            memory = SCOPED.search(instruction.attributes)
            sizes = VMEM.findall(memory[1]) if memory else []
            yield MosaicKernel(body_hash(body[1]), sum(map(int, sizes)) if sizes else None)


def body_hash(body: str) -> str:
    """`sha256:…` of a kernel's body without its source locations."""
    ir = importlib.import_module("jaxlib.mlir.ir")
    dialect = importlib.import_module("jax.experimental.mosaic.dialects").tpu
    # jax's context has the dialects of kernel bodies, which a textual body (not bytecode) needs.
    with importlib.import_module("jax.interpreters.mlir").make_ir_context() as context:
        context.allow_unregistered_dialects = True
        dialect.register_dialect(context)
        text = ir.Module.parse(base64.b64decode(body)).operation.get_asm(enable_debug_info=False)
    return f"sha256:{sha256(text.encode()).hexdigest()}"


@dataclass(frozen=True)
class LoweredKernel:
    """A kernel; `alone` is a lowered program of only this kernel. A core has `core_bytes` of VMEM."""

    figures: TpuKernelFigures
    alone: Any
    core_bytes: int


def pallas_kernels(jaxpr: Any, device: Any, target: Target) -> list[LoweredKernel]:
    """The kernels of a program for a TPU in call order, equal ones merged."""
    if target.accelerator is None or target.kind != "tpu":
        return []
    calls = [
        _lower_kernel(equation, device, target.accelerator.kernel_vmem_bytes)
        for equation in pallas_calls(jaxpr.jaxpr)
    ]
    alike = grouped(calls, lambda call: (call.figures.label, call.figures.program))
    return [replace(same[0], figures=replace(same[0].figures, calls=len(same))) for same in alike.values()]


def compile_alone(kernel: LoweredKernel) -> TpuKernelFigures:
    """Compile a kernel separately: its figures with its VMEM, or with the reason why it does not fit."""
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
    requested = getattr(params["compiler_params"], "vmem_limit_bytes", None)
    name, place = name_and_place(equation)
    figures = TpuKernelFigures(
        kernel=name,
        source=place,
        grid=grid,
        steps=-1 if -1 in grid else math.prod(grid),
        vmem_bytes=None,
        vmem_limit_bytes=requested or limit_bytes,
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
