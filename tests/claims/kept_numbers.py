"""The numbers of a text, line by line: what is kept of the documents that claims quote.

The documents' wording is not ours and stays outside; a file in `kept/` has a title, the hash of the text
that it was read from, and the numbers of each line. One is written by
`python -m tests.claims.kept_numbers TITLE <TEXT >FILE`.
"""

import re
import sys
from decimal import Decimal
from functools import cache
from hashlib import sha256
from pathlib import Path

KEPT = Path(__file__).with_name("kept")
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


def kept(title: str, text: bytes) -> str:
    """A file of `kept/` for a document."""
    lines = [f"# {title}", f"# sha256 of the text: {sha256(text).hexdigest()}", HOW]
    for place, line in enumerate(text.decode().split("\n"), 1):
        if found := numbers(line):
            lines.append(f"{place}: {' '.join(found)}")
    return "\n".join(lines) + "\n"


@cache
def read(name: str, folder: Path = KEPT) -> dict[int, frozenset[Decimal]]:
    """The numbers of a document by line. FileNotFoundError where nothing was kept of it."""
    found: dict[int, frozenset[Decimal]] = {}
    for line in (folder / f"{name}.numbers").read_text().splitlines():
        if not line.startswith("#"):
            place, _, values = line.partition(":")
            found[int(place)] = frozenset(map(Decimal, values.split()))
    return found


if __name__ == "__main__":
    sys.stdout.write(kept(sys.argv[1], sys.stdin.buffer.read()))


def line_numbers(cited: str) -> frozenset[int]:
    """The numbers of all cited lines (`46,51` or `28-39`)."""
    numbers_: set[int] = set()
    for part in filter(None, cited.split(",")):
        first, _, last = part.partition("-")
        numbers_ |= set(range(int(first), int(last or first) + 1))
    return frozenset(numbers_)
