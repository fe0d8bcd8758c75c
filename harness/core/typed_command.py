"""The command as it was typed: what signs a lock, what a run stores, and how to go on with one."""

import os
import shlex
import sys


def typed_command() -> list[str]:
    """Its words; a byte that is no UTF-8 is written by its number, for no JSON holds it."""
    words = (os.fsencode(word).decode(errors="backslashreplace") for word in sys.argv[1:])
    return ["seqsweep", *words]


def resuming_command() -> str:
    """The same, as a shell takes it, with --resume once and at its end."""
    return shlex.join([*(word for word in typed_command() if word != "--resume"), "--resume"])
