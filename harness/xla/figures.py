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
from harness.xla.cost_analysis import device_cost
from harness.xla.hlo import Graph, jaxlib_hlo
from harness.xla.pallas_kernels import mosaic_kernels
from harness.xla.trip_counts import count_trips

NO_PEAK = "XLA's figure for this backend leaves temporaries out"
BYTES = ("argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "generated_code_bytes")
CONSTANTS = 1 << 20  # at most so many elements of large constants are hashed
# On cuda, XLA's hash of the unoptimised module, which depends on the function's name.
NAMED = re.compile(r'fingerprint_before_lhs="\w*",?')

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

    Custom calls are listed by their targets in the module, including the compiler's own: on the TPU
    `AllocateBuffer` is memory for a result and no work, `PartialReduce` and `TopK` are work. `kernels` are
    the program's Pallas kernels, whose VMEM is read from the module. With `owners`, the figures include the
    buffers of the planned peak.
    """
    modules, unread = _modules(compiled)
    text, constants = texts(modules)
    calls = tuple(sorted(set(re.findall(r'custom_call_target="([^"]+)"', text))))
    graph, trip_counts = _read_graph(modules)
    bodies = list(mosaic_kernels(graph)) if graph else []
    vmem = {body.program: body.vmem_bytes for body in bodies}
    # An unreadable module may have a loop.
    looped = re.search(r"\bwhile\(", text) is not None or unread is not None
    memory = _memory(compiled.memory_analysis(), platform)
    cost = device_cost(
        compiled, platform, modules, calls, graph=graph, trip_counts=trip_counts, looped=looped
    )
    missing = {
        name: NO_PEAK if name == "peak_bytes" else "not given" for name in memory if memory[name] is None
    }
    warnings: list[str] = []
    if authored := dict.fromkeys(kernel.label for kernel in kernels if kernel.author_flops is not None):
        warnings.append(f"FLOPs of {', '.join(authored)} are an estimate of the kernel's author")
    if "{...}" in constants:
        warnings.append("the program's hash leaves out the values of its large constants")
    if unread:
        warnings.append("custom calls, collectives and loops are not known: the module cannot be read")
    if text and graph is None:
        warnings.append("collectives are not counted: the module's text could not be read")
    elif graph and open_ended(graph, trip_counts):
        warnings.append("a collective in a loop of unknown length is counted once")
    hashed = "".join((text, constants, *(body.program for body in bodies)))
    static = Static(
        **memory,
        flops=cost.flops,
        bytes_accessed=cost.bytes_accessed,
        flops_source=cost.source,
        program=f"sha256:{sha256(hashed.encode()).hexdigest()}" if text else None,
        custom_calls=calls,
        collectives=collectives(graph, trip_counts) if graph else (),
        body_only=cost.body_only,
        opcodes=graph.opcodes if graph else {},
        tpu_kernels=tuple(replace(kernel, vmem_bytes=vmem.get(kernel.program)) for kernel in kernels),
        lower_s=lower_s,
        compile_s=compile_s,
        unavailable={
            **missing,
            **cost.unavailable,
            **({} if text else {"program": unread or "this backend gives no optimised module"}),
        },
        warnings=(*warnings, *cost.warnings),
    )
    return _with_owners(static, compiled, modules, platform) if owners else static


def _with_owners(static: Static, compiled: Any, modules: Sequence[Any], platform: str) -> Static:
    """The figures with the owners of the planned peak, or why there are none."""
    from harness.xla.buffer_names import Names, instruction_names
    from harness.xla.owners import assigned_owners, gpu_assignment, reported_owners, tpu_temporaries

    try:
        if (planned := static.planned_bytes) is None:
            raise ValueError(static.unavailable.get("temp_bytes", "no plan is given"))
        (module,) = modules
        text = module.to_string(jaxlib_hlo().HloPrintOptions())
        names = Names(Graph(text), text)
        if platform == "tpu":
            report = tpu_temporaries(compiled.runtime_executable().serialize())
            owners = reported_owners(report, names, planned)
        else:
            assignment = compiled.memory_analysis().serialized_buffer_assignment_proto
            assignment = assignment or gpu_assignment(compiled.runtime_executable().serialize())
            owners = assigned_owners(assignment, instruction_names(module), names, planned)
        return replace(static, owners=owners)
    except (ImportError, AttributeError, TypeError, ValueError, LookupError, RecursionError) as error:
        why = f"the plan's peak has no owners: {error}"
        return replace(static, unavailable={**static.unavailable, "owners": why})


def _modules(compiled: Any) -> tuple[list[Any], str | None]:
    """(the optimised modules, why they cannot be read)."""
    try:
        return list(compiled.runtime_executable().hlo_modules()), None
    except AttributeError:  # another jaxlib keeps them elsewhere
        return [], None
    except RuntimeError as error:  # libtpu may be newer than jaxlib
        unread = f"jaxlib cannot read the optimised module ({str(error).splitlines()[0][:200]})"
    try:
        return [libtpu_module.module(compiled.runtime_executable().serialize())], None
    except (ImportError, AttributeError, ValueError, RuntimeError):
        return [], unread


def _memory(memory: Any, platform: str) -> dict[str, Any]:
    """Bytes by figure; None if missing, negative, or (a peak on the cpu) not what the name says."""
    known = {name: getattr(memory, f"{name.removesuffix('_bytes')}_size_in_bytes", None) for name in BYTES}
    known["peak_bytes"] = None if platform == "cpu" else getattr(memory, "peak_memory_in_bytes", None)
    return {name: value if value is not None and value >= 0 else None for name, value in known.items()}


def _read_graph(modules: Sequence[Any]) -> tuple[Graph | None, dict[str, int | None]]:
    """(the graph of the program's one module, the trip counts of its loops); (None, {}) if unreadable.

    Another jaxlib may write modules differently. That must cost only these figures, not the run.
    """
    try:
        (module,) = modules
        graph = Graph.of(module)
        return graph, count_trips(graph)
    except (ImportError, AttributeError, TypeError, ValueError, LookupError, RecursionError):
        return None, {}


def texts(modules: list[Any]) -> tuple[str, str]:
    """(the modules' text without names and metadata, the constants that it elides).

    Both are equal for equal programs in different processes. Empty where jaxlib provides no text.
    """
    try:
        options = jaxlib_hlo().HloPrintOptions
    except ImportError:  # another jaxlib keeps them elsewhere
        return "", ""
    text = NAMED.sub("", "\n".join(module.to_string(options.fingerprint()) for module in modules))
    # The fingerprint text elides large constants, so programs that differ only in those need them read too.
    whole = options.canonical()
    whole.print_large_constants = elided_elements(text) <= CONSTANTS
    lines = [line.strip() for module in modules for line in module.to_string(whole).splitlines()]
    return text, "\n".join(line for line in lines if " constant(" in line)


def elided_elements(text: str) -> int:
    """Elements of the constants that a module's text leaves out."""
    shapes = [LARGE.search(line) for line in text.splitlines() if "constant({...})" in line]
    return sum(math.prod(int(size) for size in shape[1].split(",") if size) for shape in shapes if shape)
