"""The command as it was typed: what signs a lock, what a run stores, and how to go on with one."""

import os
import shlex
import sys


def typed_command() -> list[str]:
    """The command's words; bytes that are not UTF-8 are escaped, as JSON cannot hold them."""
    words = (os.fsencode(word).decode(errors="backslashreplace") for word in sys.argv[1:])
    return ["seqsweep", *words]


def resuming_command() -> str:
    """The command for a shell, with --resume once, at its end."""
    return shlex.join([*(word for word in typed_command() if word != "--resume"), "--resume"])
