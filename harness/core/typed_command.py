"""The command as it was typed: what signs a lock, what a run stores, and how to go on with one."""

import os
import shlex
import sys
from collections.abc import Mapping
from typing import Any


def typed_command() -> list[str]:
    """The command's words; bytes that are not UTF-8 are escaped, as JSON cannot hold them."""
    words = (os.fsencode(word).decode(errors="backslashreplace") for word in sys.argv[1:])
    return ["seqsweep", *words]


def resuming_command() -> str:
    """The command for a shell, with --resume once, at its end."""
    return shlex.join([*(word for word in typed_command() if word != "--resume"), "--resume"])


QUICK = "--quick"
QUICK_NOTE = (
    "--quick is noisy: two lengths and a tenth of the budget, to see that all runs; quote no number of it."
)
_UNTIMED = {"static", "check"}  # depths without times: all their figures are exact


def quick_notes(info: Mapping[str, Any]) -> tuple[str, ...]:
    """The sentence on a run whose times `--quick` took, by the command in its run.json; of others nothing."""
    timed = info.get("depth") not in _UNTIMED
    return (QUICK_NOTE,) if timed and QUICK in (info.get("command") or ()) else ()
