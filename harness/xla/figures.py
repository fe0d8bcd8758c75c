"""All static figures of a program: memory, cost, collectives, hash. Negative figures are discarded."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from harness.core.kernel_figures import TpuKernelFigures
from harness.core.static_figures import Static
from harness.xla import libtpu_module
from harness.xla.collectives import collectives, open_ended
from harness.xla.cost_analysis import OptimisedProgram, device_cost
from harness.xla.hlo import Graph, jaxlib_hlo
from harness.xla.pallas_kernels import mosaic_kernels
from harness.xla.trip_counts import count_trips

NO_PEAK = "XLA's figure for this backend does not include temporaries"
BYTES = ("argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "generated_code_bytes")
CONSTANTS = 1 << 20  # the most elements of large constants that are hashed
# On cuda, XLA's hash of the unoptimised module, which depends on the function's name.
NAMED = re.compile(r'fingerprint_before_lhs="\w*",?')

# Exceptions that reading a module of another jaxlib may raise.
UNREADABLE = (ImportError, AttributeError, TypeError, ValueError, LookupError, RuntimeError)

LARGE = re.compile(r"\w+\[([\d,]*)\]\S* constant\(\{\.\.\.\}\)")


def figures(
    compiled: Any,
    platform: str,
    *,
    lower_s: float,
    compile_s: float,
    kernels: Sequence[TpuKernelFigures] = (),
    owners: bool = False,
) -> Static:
    """XLA's memory and cost analysis of one device's program, its collectives and its hash.

    Custom calls are listed by their targets in the module, including the compiler's own. On the TPU
    `AllocateBuffer` is memory for a result, not work, but `PartialReduce` and `TopK` are work. `kernels` are
    the program's Pallas kernels, whose VMEM is read from the module. With `owners`, the figures include the
    buffers of the planned peak.
    """
    memory = _memory(compiled.memory_analysis(), platform)
    unavailable = {
        name: NO_PEAK if name == "peak_bytes" else "not given" for name in memory if memory[name] is None
    }
    warnings: list[str] = []
    if authored := dict.fromkeys(kernel.label for kernel in kernels if kernel.author_flops is not None):
        warnings.append(f"FLOPs of {', '.join(authored)} are an estimate by the kernel's author")
    known: dict[str, Any] = {}
    program = None
    try:
        program = _read_program(compiled)
        known, notes = _read_figures(program, kernels)
        warnings += notes
    except UNREADABLE as error:  # another jaxlib may write modules differently; libtpu may be newer than it
        words = str(error).partition("\n")[0][:200]
        unavailable["program"] = f"jaxlib cannot read the optimised module ({words})"
        warnings.append(
            "custom calls, collectives and loops are not known, because the module cannot be read"
        )
    cost = device_cost(compiled, platform, program)
    static = Static(
        **memory,
        **known,
        flops=cost.flops,
        bytes_accessed=cost.bytes_accessed,
        flops_source=cost.source,
        body_only=cost.body_only,
        lower_s=lower_s,
        compile_s=compile_s,
        unavailable={**unavailable, **cost.unavailable},
        warnings=(*warnings, *cost.warnings),
    )
    return _with_owners(static, compiled, program, platform) if owners else static


def _read_program(compiled: Any) -> OptimisedProgram:
    executable = compiled.runtime_executable()
    try:
        (module,) = executable.hlo_modules()
    except RuntimeError as error:  # libtpu may be newer than jaxlib
        try:
            module = libtpu_module.module(executable.serialize())
        except (AttributeError, ValueError, RuntimeError):
            raise error from None
    graph = Graph.of(module)
    return OptimisedProgram(module, graph, count_trips(graph))


def _read_figures(
    program: OptimisedProgram, kernels: Sequence[TpuKernelFigures]
) -> tuple[dict[str, Any], list[str]]:
    """(the figures that the optimised module has, warnings)."""
    graph, trip_counts = program.graph, program.trip_counts
    bodies = list(mosaic_kernels(graph))
    vmem = {body.program: body.vmem_bytes for body in bodies}
    text, constants = texts(program.module)
    hashed = "".join((text, constants, *(body.program for body in bodies)))
    warnings: list[str] = []
    if "{...}" in constants:
        warnings.append("the program's hash does not include the values of its large constants")
    if open_ended(graph, trip_counts):
        warnings.append("a collective in a loop of unknown length is counted once")
    return {
        "program": f"sha256:{sha256(hashed.encode()).hexdigest()}",
        "custom_calls": program.custom_calls,
        "collectives": collectives(graph, trip_counts),
        "opcodes": graph.opcodes,
        "tpu_kernels": tuple(replace(kernel, vmem_bytes=vmem.get(kernel.program)) for kernel in kernels),
    }, warnings


def _with_owners(static: Static, compiled: Any, program: OptimisedProgram | None, platform: str) -> Static:
    """The figures with the buffer breakdown of the planned peak, or with the reason for none."""
    from harness.xla.buffer_names import Names, instruction_names
    from harness.xla.owners import assigned_owners, gpu_assignment, reported_owners, tpu_temporaries

    try:
        if (planned := static.planned_bytes) is None:
            raise ValueError(static.unavailable.get("temp_bytes", "the compiler reports no plan"))
        if program is None:
            raise ValueError(static.unavailable["program"])
        text = program.module.to_string(jaxlib_hlo().HloPrintOptions())
        names = Names(Graph(text), text)
        if platform == "tpu":
            report = tpu_temporaries(compiled.runtime_executable().serialize())
            owners = reported_owners(report, names, planned)
        else:
            assignment = compiled.memory_analysis().serialized_buffer_assignment_proto
            assignment = assignment or gpu_assignment(compiled.runtime_executable().serialize())
            owners = assigned_owners(assignment, instruction_names(program.module), names, planned)
        return replace(static, owners=owners)
    except UNREADABLE as error:
        why = f"no buffer breakdown of the planned peak: {error}"
        return replace(static, unavailable={**static.unavailable, "owners": why})


def _memory(memory: Any, platform: str) -> dict[str, Any]:
    """Bytes by figure; None if missing, negative, or (a peak on the cpu) without temporaries."""
    known = {name: getattr(memory, f"{name.removesuffix('_bytes')}_size_in_bytes", None) for name in BYTES}
    known["peak_bytes"] = None if platform == "cpu" else getattr(memory, "peak_memory_in_bytes", None)
    return {name: value if value is not None and value >= 0 else None for name, value in known.items()}


def texts(module: Any) -> tuple[str, str]:
    """(the module's text without names and metadata, the constants that it elides).

    Both are equal for equal programs in different processes.
    """
    options = jaxlib_hlo().HloPrintOptions
    text = NAMED.sub("", module.to_string(options.fingerprint()))
    # The fingerprint text elides large constants, so they are read for programs that differ only in them.
    whole = options.canonical()
    whole.print_large_constants = elided_elements(text) <= CONSTANTS
    lines = [line.strip() for line in module.to_string(whole).splitlines()]
    return text, "\n".join(line for line in lines if " constant(" in line)


def elided_elements(text: str) -> int:
    """Elements of the constants that a module's text leaves out."""
    shapes = [LARGE.search(line) for line in text.splitlines() if "constant({...})" in line]
    return sum(math.prod(int(size) for size in shape[1].split(",") if size) for shape in shapes if shape)
