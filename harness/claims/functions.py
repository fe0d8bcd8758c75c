"""The functions that a claim's expressions may call, and what each takes."""

from collections.abc import Mapping
from contextlib import suppress

from harness.claims.expression import Expression, parse
from harness.core.static_figures import STATIC_FIGURES

# Without the compiler's estimates of time, which are no evidence of a time.
COMPILED = (*STATIC_FIGURES, "generated_code_bytes", "planned_bytes")
IDENTITY = ("program", "calls", "ops")
TRACED, FACT = "trace_bytes", "fact"
ANALYTIC = ("cost_flops", "cost_bytes", "cost_dense_flops")
JUDGED = ("status", "check")
SPEEDUP = "speedup"  # of stored runs, on all of their machines
DEVICE = ("memory", "peak", "bandwidth", "vector_ops")
COLUMNS = ("first_win", "crossover", "growth", "fit")
EXPONENT = "exponent"
TESTED = frozenset({*COMPILED, *IDENTITY, TRACED, FACT, *JUDGED, SPEEDUP})  # answered by compiling or running

NUMBER = "number"  # the kind of a numeric argument; every other kind is in quotes
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(COMPILED, ("implementation", "target")),
    "program": ("implementation", "target"),
    "calls": ("implementation", "target", "custom call"),
    "ops": ("implementation", "target", "opcode"),
    TRACED: ("implementation",),
    FACT: ("implementation", "name"),
    **dict.fromkeys(ANALYTIC, ("implementation",)),
    "status": ("implementation",),
    SPEEDUP: ("implementation", "baseline"),
    "check": ("family/check", "implementation"),
    **dict.fromkeys(DEVICE, ("target",)),
    "first_win": ("column", "column"),
    "crossover": ("column", "column"),
    "growth": ("column", NUMBER),
    "fit": ("column", NUMBER),
    EXPONENT: ("figure", "implementation", "target", NUMBER, NUMBER),
}
COST_EXPONENT = ("figure", "implementation", NUMBER, NUMBER)  # of a formula, which has no target
KEYWORDS: Mapping[str, tuple[str, ...]] = {"fit": ("start", "square")}  # of functions that compile nothing


def require_arguments(name: str, arguments: tuple[object, ...]) -> None:
    """ValueError where a call has other arguments than the function takes."""
    kinds = ARGUMENTS[name]
    if name == EXPONENT and arguments and str(arguments[0]) in ANALYTIC:
        kinds = COST_EXPONENT
    given = [isinstance(value, str) for value in arguments]
    if given != [kind != NUMBER for kind in kinds]:
        listed = ", ".join(kind if kind == NUMBER else f'"{kind}"' for kind in kinds)
        raise ValueError(f"{name}({listed}) was given {len(arguments)} arguments, or not of that kind")


def functions_in(expression: Expression) -> frozenset[str]:
    """Every function that a value depends on, including those in quoted columns and an exponent's figure."""
    functions = set(expression.functions())
    for name, words in expression.quoted_arguments():
        if name == EXPONENT:
            functions.update(words[:1])
        elif name in COLUMNS:
            for word in words:
                with suppress(ValueError):  # needs.py refuses a column that is not arithmetic
                    functions |= functions_in(parse(word))
    return frozenset(functions)
