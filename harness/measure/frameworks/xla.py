"""What XLA says of a compiled program: memory, work and identity. No negative figure is believed."""

from __future__ import annotations

import importlib
import math
import re
from hashlib import sha256
from typing import Any

from harness.spec.record import Static

NO_COUNT = "the compiler gives none"
CONSTANTS = 1 << 20  # elements of constants that a program's hash takes in
NO_PEAK = "leaves temp out on this backend"
BYTES = ("argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "generated_code_bytes")
COUNTS = {"flops": "flops", "bytes_accessed": "bytes accessed"}


def figures(compiled: Any, platform: str, *, lower_s: float, compile_s: float) -> Static:
    """XLA's memory and cost analysis.

    On the cpu, XLA counts every custom call as −1 FLOP and −1 byte and adds that to the rest, so
    that one such call spoils both sums. Elsewhere the backend's own calls are counted.
    """
    memory, cost = compiled.memory_analysis(), compiled.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    text, constants = _modules(compiled)
    calls = tuple(sorted(set(re.findall(r'custom_call_target="([^"]+)"', text))))
    known = {name: getattr(memory, f"{name.removesuffix('_bytes')}_size_in_bytes", None) for name in BYTES}
    known["peak_bytes"] = None if platform == "cpu" else getattr(memory, "peak_memory_in_bytes", None)
    missing = {**dict.fromkeys(BYTES, "not given"), "peak_bytes": NO_PEAK}
    for name, key in COUNTS.items():
        opaque = calls if platform == "cpu" else ()
        known[name] = None if opaque else cost.get(key)
        missing[name] = f"the custom call {', '.join(opaque)} is not counted" if opaque else NO_COUNT
    known = {name: value if value is not None and value >= 0 else None for name, value in known.items()}
    unavailable = {name: missing[name] for name, value in known.items() if value is None}
    if not text:
        unavailable["program"] = "this backend gives no optimised module"
    warnings: list[str] = []
    if "{...}" in constants:
        warnings.append("the program's hash leaves out the values of its large constants")
    if known["flops"] is not None and calls:
        warnings.append(f"FLOPs may leave out the custom calls {', '.join(calls)}")
    if known["flops"] is not None and re.search(r"\bwhile\(", text):
        warnings.append("FLOPs and bytes count a loop's body once")
    return Static(
        argument_bytes=known["argument_bytes"],
        output_bytes=known["output_bytes"],
        temp_bytes=known["temp_bytes"],
        alias_bytes=known["alias_bytes"],
        peak_bytes=known["peak_bytes"],
        generated_code_bytes=known["generated_code_bytes"],
        flops=known["flops"],
        bytes_accessed=known["bytes_accessed"],
        flops_source="compiled" if known["flops"] is not None else None,
        program=f"sha256:{sha256((text + constants).encode()).hexdigest()}" if text else None,
        custom_calls=calls,
        lower_s=lower_s,
        compile_s=compile_s,
        unavailable=unavailable,
        warnings=tuple(warnings),
    )


def _modules(compiled: Any) -> tuple[str, str]:
    """The optimised module's text without names and metadata, and its constants, which that elides.

    Both are equal for equal programs of two processes. Empty where there is none to read.
    """
    try:
        options = importlib.import_module("jaxlib._hlo").HloPrintOptions
        modules = compiled.runtime_executable().hlo_modules()
    except (ImportError, AttributeError):  # another jaxlib keeps them elsewhere
        return "", ""
    text = "\n".join(module.to_string(options.fingerprint()) for module in modules)
    whole = options.canonical()
    whole.print_large_constants = elided(text) <= CONSTANTS
    lines = [line.strip() for module in modules for line in module.to_string(whole).splitlines()]
    return text, "\n".join(line for line in lines if " constant(" in line)


def elided(text: str) -> int:
    """Elements of the constants that a module's text leaves out."""
    shapes = re.findall(r"\w+\[([\d,]*)\]\S* constant\(\{\.\.\.\}\)", text)
    return sum(math.prod(int(size) for size in shape.split(",") if size) for shape in shapes)
