"""A compiled program's hash: equal for equal programs, whatever their functions' names.

The hashed text has neither function names nor device ids: a program for one TPU device has the same hash on
`v5p:2x2x1` and `v5p:4x4x4`. That of a program for several devices has their groups.
"""

import math
import re
from hashlib import sha256
from typing import Any

from harness.xla.jaxlib_hlo import jaxlib_hlo

CONSTANTS = 1 << 20  # at most so many elements of large constants are hashed
# On cuda, XLA's hash of the unoptimised module, which depends on the function's name.
NAMED = re.compile(r'fingerprint_before_lhs="\w*",?')

LARGE = re.compile(r"\w+\[([\d,]*)\]\S* constant\(\{\.\.\.\}\)")


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


def program(text: str, constants: str) -> str | None:
    """The hash of the two texts that `texts` returns; None where there is no text."""
    return f"sha256:{sha256((text + constants).encode()).hexdigest()}" if text else None


def elided_elements(text: str) -> int:
    """Elements of the constants that a module's text leaves out."""
    shapes = [LARGE.search(line) for line in text.splitlines() if "constant({...})" in line]
    return sum(math.prod(int(size) for size in shape[1].split(",") if size) for shape in shapes if shape)
