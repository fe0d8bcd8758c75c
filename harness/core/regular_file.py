"""Opening only regular files: a FIFO would wait for its other end, and a device may not end."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

NOT_REGULAR = "it is not a regular file"


def open_descriptor(path: Path, flags: int, mode: int = 0o666) -> int:
    """A descriptor of the file at `path`, not inherited by children. OSError if it is not a regular file."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, NOT_REGULAR)
    return descriptor


def open_regular(path: Path, buffering: int = -1) -> BinaryIO:
    """Open the file at `path` for reading bytes. OSError if it is not a regular file."""
    return os.fdopen(open_descriptor(path, os.O_RDONLY), "rb", buffering)


def read_regular(path: Path) -> bytes:
    """All bytes of the file at `path`. OSError if it is not a regular file."""
    with open_regular(path) as file:
        return file.read()
