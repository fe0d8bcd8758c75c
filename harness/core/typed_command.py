"""The typed command, for locks, stored runs, and resuming."""

import os
import shlex
import sys
from collections.abc import Mapping
from typing import Any


def typed_command() -> list[str]:
    """The command's words; bytes that are not UTF-8 are escaped, because JSON cannot store them."""
    words = (os.fsencode(word).decode(errors="backslashreplace") for word in sys.argv[1:])
    return ["seqsweep", *words]


def resuming_command() -> str:
    """The command for a shell, with --resume once, at its end."""
    return shlex.join([*(word for word in typed_command() if word != "--resume"), "--resume"])


QUICK = "--quick"
QUICK_NOTE = (
    "--quick is noisy: it uses two lengths and a tenth of the budget. Use it for tests, not for results."
)
_UNTIMED = {"static", "check"}  # depths without times: all their figures are exact


def quick_notes(info: Mapping[str, Any]) -> tuple[str, ...]:
    """The sentence on a run with times from `--quick`, by the command in its run.json; else empty."""
    timed = info.get("depth") not in _UNTIMED
    return (QUICK_NOTE,) if timed and QUICK in (info.get("command") or ()) else ()
