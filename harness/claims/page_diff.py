"""Comparison of two claims pages, allowing for the numbers that another processor may change."""

import math
import re

from harness.claims.model import VARIES

DRIFT = 0.05  # the share by which a number of the host's compiler may differ between processors
_PART = re.compile(r"^### (\S+/\S+)$", re.MULTILINE)
_VARYING = re.compile(rf"{VARIES}(-?\d[\d\u202f]*(?:\.\d+)?(?:e-?\d+)?)(?: ([KMGT]iB|B)\b)?")
_SCALES = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SENTENCE = "- verdict: "
_TOLERANCE = re.compile(r" \| (\d+(?:\.\d+)?) %(?: \([^|]*\))? \| [^|]* \|$")


def parts(text: str) -> dict[str, str]:
    """A page's text by claim; the text before a family's first claim is under the family's name."""
    texts: dict[str, str] = {}
    for section in re.split(r"(?m)^(?=## )", text):
        pieces = _PART.split(section)
        heading = re.match(r"## (.+)", section)
        texts[heading[1] if heading else ""] = pieces[0].strip()
        texts |= {name: body.strip() for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}
    return texts


def alike(known: str, new: str) -> bool:
    """Whether two texts of a page are equal except for what another processor may change.

    Verdicts, words, published numbers and numbers for accelerators must match exactly; numbers with a ≈ may
    differ by their row's tolerance, or by a twentieth where that is more. A verdict's sentence quotes one of
    the rows below it, so there they may differ by the widest of these.
    """
    lines = known.split("\n"), new.split("\n")
    if len(lines[0]) != len(lines[1]):
        return False
    widest = max(map(_tolerance, lines[1]))
    return all(
        _alike(before, after, widest if after.startswith(_SENTENCE) else _tolerance(after))
        for before, after in zip(*lines, strict=True)
    )


def _tolerance(line: str) -> float:
    stated = _TOLERANCE.search(line)
    return max(DRIFT, float(stated[1]) / 100 if stated else 0.0)


def _alike(known: str, new: str, share: float) -> bool:
    if _VARYING.sub(VARIES, known) != _VARYING.sub(VARIES, new):
        return False
    pairs = zip(_VARYING.findall(known), _VARYING.findall(new), strict=True)
    return all(math.isclose(_amount(*a), _amount(*b), rel_tol=share) for a, b in pairs)


def _amount(number: str, unit: str) -> float:
    return float(number.replace("\u202f", "")) * _SCALES[unit]
