"""The command as it was typed: what signs a lock, what a run stores, and how to go on with one."""

import shlex
import sys


def typed_command() -> list[str]:
    return ["seqsweep", *sys.argv[1:]]


def resuming_command() -> str:
    """The same, as a shell takes it, with --resume once and at its end."""
    return shlex.join([*(word for word in typed_command() if word != "--resume"), "--resume"])
