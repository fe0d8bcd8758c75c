"""Numbers of a text, by line: the stored part of the documents that claims quote.

The documents' wording is not ours and stays outside; a file in `stored/` has a title, the hash of the text
that it was read from, and the numbers of each line. One is written by
`python -m tests.claims.stored_numbers TITLE <TEXT >FILE`.
"""

import re
import sys
from decimal import Decimal
from functools import cache
from hashlib import sha256
from pathlib import Path

STORED = Path(__file__).with_name("stored")
SCALES = ("K", "k", "M", "G", "B", "T", "Ki", "Mi", "Gi", "Ti")
UNITS = ("x", "X", "s", "ms", "us", "th", "D", *(f"{scale}B" for scale in SCALES))
NUMBER = re.compile(
    r"(?<![\w.])"  # no part of a name: D93888405, bf16, V3.2, 8d32e21 are none
    r"(\d{1,3}(?:,\d{3})+(?!\d)|\d+)"  # 26,581 and 142606336
    r"(\.\d+)?(e[+-]?\d+)?"  # 26581.04 and 1e-5
    rf"(?:{'|'.join(sorted((*SCALES, *UNITS), key=len, reverse=True))})?"  # 64K, 14.07x, 0.50ms
    r"(?!\w)"
)
HOW = "# numbers as they stand, without thousands' commas, units and prefixes (64K is 64); names are left out"


def numbers(line: str) -> tuple[str, ...]:
    """`In 26,581.04 ms, 10.1x/11.5x at 64K (~15%)` → 26581.04, 10.1, 11.5, 64, 15."""
    return tuple("".join(match.groups("")).replace(",", "") for match in NUMBER.finditer(line))


def format_numbers(title: str, text: bytes) -> str:
    """Text of a file in `stored/` for a document."""
    lines = [f"# {title}", f"# sha256 of the text: {sha256(text).hexdigest()}", HOW]
    for place, line in enumerate(text.decode().split("\n"), 1):
        if found := numbers(line):
            lines.append(f"{place}: {' '.join(found)}")
    return "\n".join(lines) + "\n"


@cache
def read(name: str, folder: Path = STORED) -> dict[int, frozenset[Decimal]]:
    """Numbers of a document by line. FileNotFoundError if it is not stored."""
    found: dict[int, frozenset[Decimal]] = {}
    for line in (folder / f"{name}.numbers").read_text().splitlines():
        if not line.startswith("#"):
            place, _, values = line.partition(":")
            found[int(place)] = frozenset(map(Decimal, values.split()))
    return found


if __name__ == "__main__":
    sys.stdout.write(format_numbers(sys.argv[1], sys.stdin.buffer.read()))


def line_numbers(cited: str) -> frozenset[int]:
    """Numbers of all cited lines (`46,51` or `28-39`)."""
    numbers_: set[int] = set()
    for part in filter(None, cited.split(",")):
        first, _, last = part.partition("-")
        numbers_ |= set(range(int(first), int(last or first) + 1))
    return frozenset(numbers_)
