"""Whole outputs that a person has read, each a file of tests/golden.

`REWRITE_GOLDENS=1 pytest …` writes what comes out now, and fails: read the difference, then run again.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"


def assert_golden(name: str, text: str) -> None:
    """The text is that of the file, to the character."""
    file = GOLDEN / name
    if os.environ.get("REWRITE_GOLDENS") and not (file.is_file() and file.read_text("utf-8") == text):
        file.write_text(text, "utf-8")
        pytest.fail(f"{file} was written; read it")
    assert text == file.read_text("utf-8")


def scenes(texts: Mapping[str, str]) -> str:
    """Several outputs as one text, each below its name."""
    return "".join(f"=== {name}\n{text.rstrip()}\n\n" for name, text in texts.items())


def without_hashes(text: str) -> str:
    """The text with every hash of ten digits or more as HASH: another field of a record changes them."""
    return re.sub(r"\b[0-9a-f]{10,64}\b", "HASH", text)


def assert_answers(name: str, known: Mapping[str, Any]) -> None:
    """What each expression of a golden file gives: a line `> expression`, and its value or error below it.

    `known` are the names in the expressions. Add one as a line that begins with `> `, and rewrite the file.
    """
    told: list[str] = []
    for line in (GOLDEN / name).read_text("utf-8").splitlines():
        if line.startswith("> "):
            told += [line, _answer(line[2:], known)]
        elif not line or line.startswith("#"):
            told.append(line)
    assert_golden(name, "\n".join(told) + "\n")


def _answer(expression: str, known: Mapping[str, Any]) -> str:
    try:
        return repr(eval(expression, dict(known)))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
