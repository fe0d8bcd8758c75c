"""A lock file: one process at a time locks and signs it, and any death of the process frees it.

The lock is flock(2)'s. It belongs to the open file: unlike a lock of fcntl(2), it remains if the process
opens and closes the same file again. Over NFS the kernel locks all bytes of the file, which needs a
descriptor for writing, so a holder opens for writing. Lock files are never replaced or removed, because a
new file would have a separate lock.
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
    """The process that has locked a file. `who` is its signed command, or its user if another user."""

    pid: int
    who: str
    since: float  # seconds since the epoch

    def __str__(self) -> str:
        if self is UNSIGNED:
            return "another process (unknown command)"
        age = format_seconds(max(0.0, time.time() - self.since), 2)
        return f"process {self.pid} {self.who} for {age}"


UNSIGNED = Holder(0, "", 0.0)


class FileLock:
    """A lock file that is open in this process. Raises OSError if it cannot be opened or locked."""

    def __init__(self, path: Path) -> None:
        self.descriptor = _open(path, os.O_RDWR | os.O_CREAT)
        self.locked = False
        try:
            os.fchmod(self.descriptor, 0o600)  # a user who can open it can lock it, and block its owner
        except OSError:
            self.close()
            raise

    def take(self, command: str) -> bool:
        """Lock and sign the file if it is free; return whether this process has locked it."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self.locked = True
        signature = {"pid": os.getpid(), "command": command, "since": time.time()}
        with suppress(OSError):  # a full disk: it is locked, but not signed
            os.ftruncate(self.descriptor, 0)
            os.pwrite(self.descriptor, json.dumps(signature).encode(), 0)
        return True

    def holder(self) -> Holder:
        """The holder who signed the lock; UNSIGNED if the signature is missing or unreadable."""
        return _signature(self.descriptor)

    def release(self) -> None:
        if self.locked:
            os.ftruncate(self.descriptor, 0)
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)
            self.locked = False

    def close(self) -> None:
        """Free the lock if this process has it, and close the file."""
        try:
            self.release()
        finally:
            os.close(self.descriptor)


def holder_of(path: Path) -> Holder | None:
    """The holder of the lock file at `path`; None if it is free or does not exist.

    Raises OSError if it cannot be opened.
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
    # In a folder that all users can write to, a link could have any target. A child that inherited the
    # descriptor would keep the lock after this process's death.
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
