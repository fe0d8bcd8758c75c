"""The standard streams and the current folder that a command starts with, each of which may be missing."""

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
    # The next file to be opened would get the number of a stream that is closed, and with it all that
    # this process and its children print.
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
        raise MachineError("standard output is closed; send it to a file, or to /dev/null")
    try:
        Path.cwd()
    except FileNotFoundError:
        raise MachineError("the current folder has been removed; change to another one") from None


def print_line(text: str, *, err: bool = False) -> None:
    """Print lines on standard output, or beside it on standard error."""
    typer.echo(clean_text(text), err=err)


def print_error(text: str) -> None:
    """Print a sentence on standard error, if it takes one."""
    with suppress(OSError):
        print_line(clean_line(text), err=True)


def output_failure(error: Exception) -> str | None:
    """Why standard output takes no more; None for another exception, such as one that names a file."""
    if isinstance(error, OSError) and error.filename is None and error.errno in NOWHERE_TO_WRITE:
        return error.strerror
    return None


def discard_output() -> None:
    """Discard what is still buffered, so that the interpreter's exit does not fail to write it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
