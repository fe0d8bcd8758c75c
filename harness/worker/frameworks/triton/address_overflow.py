"""Pointers of a Triton kernel whose offsets overflow 32 bits, found in its IR (TTIR).

The largest magnitude of each integer follows from the grid, the arguments and the constants. What comes from
memory or from a branch counts as 0: an address that is computed from it is not judged.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

VALUE, NUMBER = re.compile(r"%[\w#.-]+"), re.compile(r"\d+")
OPERATION = re.compile(r"^ *(?:(%[\w.-]+)(?::\d+)? = )?(?:arith|scf|tt)\.(\w+) (.*)$", re.MULTILINE)
RULES: Mapping[Callable[[Sequence[int]], int], str] = {
    sum: "addi subi",
    math.prod: "muli",
    lambda sizes: sizes[0] // max(1, sizes[1]): "divsi",
    lambda sizes: min(sizes[0], max(1, sizes[1]) - 1): "remsi remui",
    min: "minsi minui",
    max: "extsi extui trunci select maxsi maxui splat broadcast expand_dims reshape trans addptr",
}
MAGNITUDES = {operation: rule for rule, operations in RULES.items() for operation in operations.split()}


def overflowing_pointers(ttir: str, grid: Sequence[int], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The tensor arguments of 2³¹ elements or more, in whose addresses an integer overflows its type."""
    # By value of the IR (magnitude, pointer argument).
    known = {f"%{name}": (abs(value), "") for name, value in arguments.items() if isinstance(value, int)}
    known |= {f"%{name}": (0, name) for name, value in arguments.items() if _is_wide(value)}
    found, blocks = dict[str, None](), {"x": 1, "y": 1, "z": 1, **dict(zip("xyz", grid, strict=False))}
    for result, operation, rest in OPERATION.findall(ttir):
        ids = VALUE.findall(rest)
        given = [known.get(each, (0, "")) for each in ids]
        if operation == "for":  # %place = %first to %end step %step iter_args(%inside = %before, …)
            known |= {ids[0]: given[2], result: given[-1], **dict(zip(ids[4::2], given[5::2], strict=True))}
            known |= {f"{result}#{number}": value for number, value in enumerate(given[5::2])}
        elif operation in {"get_program_id", "make_range", "constant"}:  # x, {end = 64 : i32, …}, dense<64>
            size = blocks.get(rest[0]) or int((NUMBER.search(rest) or "0")[0])
            known[result] = size - (operation != "constant"), ""
        elif operation in MAGNITUDES:
            size = MAGNITUDES[operation]([size for size, _ in given])
            # What its type cannot hold becomes too large for any type, and so does what follows from it.
            bits = 63 if "i64" in rest.rpartition(" : ")[2] else 31
            known[result] = size if size < 1 << bits else 2**256, max(pointer for _, pointer in given)
            if operation == "addptr" and given[1][0] >= 1 << 63 and given[0][1]:
                found[given[0][1]] = None
    return tuple(found)


def _is_wide(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.untyped_storage().nbytes() >= 2**31 * value.itemsize
