"""Lines of the table of tiles, and its text in TOML."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

KEY = ("dtype", "width", "capability", "seq")  # what a line holds for
DTYPES = ("half", "f32", "f64")

Line = dict[str, Any]
Table = Mapping[str, Mapping[str, list[Line]]]


def key_of(line: Line) -> Line:
    return {name: line[name] for name in KEY if name in line}


def put(lines: list[Line], key: Line, tile: Sequence[int], label: Mapping[str, Any]) -> None:
    """Replace the line with this key, or add it."""
    lines[:] = [line for line in lines if key_of(line) != key]
    lines.append({**key, "tile": list(tile), **label})
    lines.sort(key=_order)


def _order(line: Line) -> tuple[Any, ...]:
    return DTYPES.index(line["dtype"]), line["capability"], line.get("width", math.inf), line.get("seq", 0)


def write(table: Table, commented: Path, file: Path) -> None:
    """Write a table whole, under the comment of the file `commented`."""
    comment = [text for text in commented.read_text().splitlines() if text.startswith("#")]
    text = "\n".join(comment) + "\n"
    for room, kernels in table.items():
        text += f"\n[{room}]\n"
        for name, lines in kernels.items():
            text += "".join([f"{name} = [\n", *(f"  {_inline(line)},\n" for line in lines), "]\n"])
    fresh = file.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(file)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_inline(each)}" for name, each in value.items()) + "}"
    return json.dumps(value)
