"""A lock file: one process holds it at a time and signs it, and its death frees it, however it dies.

The lock is flock(2)'s. It belongs to the open file: a process that opens and closes the same file beside it
does not drop it, as it would drop a lock of fcntl(2). Over NFS the kernel makes it a lock of the whole
file's bytes, which needs a descriptor that can write. So a holder opens for writing; and a file that is
replaced or removed is another file, so no lock file ever is.
"""

import errno
import fcntl
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.core.regular_file import open_descriptor
from harness.core.units import format_seconds

NOT_OURS = "it belongs to another user"


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock. `who` is its command as it signed, or its user if that is another."""

    pid: int
    who: str
    since: float  # seconds since the epoch

    def __str__(self) -> str:
        if self is UNSIGNED:
            return "another process, which has not said its name"
        age = format_seconds(max(0.0, time.time() - self.since), 2)
        return f"process {self.pid} {self.who} for {age}"


UNSIGNED = Holder(0, "", 0.0)


class FileLock:
    """A lock file that is open in this process. Raises OSError where it cannot be opened or locked."""

    def __init__(self, path: Path) -> None:
        self.descriptor = _open(path, os.O_RDWR | os.O_CREAT)
        self.held = False
        try:
            os.fchmod(self.descriptor, 0o600)  # who can open it can hold it, and block its user
        except OSError:
            self.close()
            raise

    def take(self, command: str) -> bool:
        """Hold and sign it if it is free; whether this process holds it now."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self.held = True
        signature = {"pid": os.getpid(), "command": command, "since": time.time()}
        with suppress(OSError):  # a full disk: it is held all the same, by a process without a name
            os.ftruncate(self.descriptor, 0)
            os.pwrite(self.descriptor, json.dumps(signature).encode(), 0)
        return True

    def holder(self) -> Holder:
        """The holder who signed the lock; UNSIGNED where the signature is missing or illegible."""
        return _signature(self.descriptor)

    def release(self) -> None:
        if self.held:
            os.ftruncate(self.descriptor, 0)
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)
            self.held = False

    def close(self) -> None:
        """Free it where this process holds it, and close the file."""
        try:
            self.release()
        finally:
            os.close(self.descriptor)


def holder_of(path: Path) -> Holder | None:
    """The holder of the lock file at `path`; None where it is free or does not exist.

    Raises OSError where it cannot be opened.
    """
    try:
        descriptor = _open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _signature(descriptor)
    finally:
        os.close(descriptor)
    return None


def _open(path: Path, flags: int) -> int:
    # In a folder that everybody may write to, a link could lead anywhere. A child that inherited the
    # descriptor would hold the lock after this process's death.
    descriptor = open_descriptor(path, flags | os.O_NOFOLLOW, 0o600)
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise OSError(errno.EPERM, NOT_OURS)
    return descriptor


def _signature(descriptor: int) -> Holder:
    try:
        signed = json.loads(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
        return Holder(int(signed["pid"]), f'("{signed["command"]}")', float(signed["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return UNSIGNED
