"""The standard streams and the current folder of a command, any of which may be missing."""

import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path

import typer

from harness.core.errors import MachineError
from harness.core.shown_text import clean_line, clean_text

NOWHERE_TO_WRITE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def prepare() -> None:
    """Make the streams write UTF-8. MachineError without standard output, or without a current folder."""
    # Otherwise the next file to be opened would get the number of a closed stream, and with it the output
    # of this process and its children.
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
            os.set_inheritable(descriptor, True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if sys.stdout is None:
        raise MachineError("standard output is closed; redirect it to a file, or to /dev/null")
    try:
        Path.cwd()
    except FileNotFoundError:
        raise MachineError("the current folder has been removed; change to another one") from None


def print_line(text: str, *, err: bool = False) -> None:
    """Print lines on standard output or standard error."""
    typer.echo(clean_text(text), err=err)


def print_error(text: str) -> None:
    """Print a sentence on standard error, if it can be written."""
    with suppress(OSError):
        print_line(clean_line(text), err=True)


def output_failure(error: Exception) -> str | None:
    """Why standard output cannot be written; None for other exceptions, for example one on a file."""
    if isinstance(error, OSError) and error.filename is None and error.errno in NOWHERE_TO_WRITE:
        return error.strerror
    return None


def discard_output() -> None:
    """Discard buffered output, so that the interpreter does not fail to write it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
