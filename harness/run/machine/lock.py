"""One benchmark per device at a time: two at once measure each other."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.core.errors import MachineError
from harness.core.units import format_seconds

POLL_SECONDS = 0.5


def lock_path(device: str) -> Path:
    return Path(tempfile.gettempdir()) / f"seqsweep-{device}.lock"


@contextmanager
def device_lock(
    device: str, command: str, path: Path | None = None, *, wait: Callable[[str], None] | None = None
) -> Generator[None]:
    """Hold `device` for this process; MachineError names who holds it and since when.

    With `wait` the process waits instead until it is free, and tells each holder to `wait` in a sentence.
    The kernel releases the lock when the holder dies, however it dies.
    """
    where = path or lock_path(device)
    try:
        descriptor = _open(where)
    except OSError as error:
        raise MachineError(
            f"{where} cannot be opened ({error.strerror}); remove it or make it writable"
        ) from None
    try:
        if wait is not None:
            _wait_until_free(descriptor, device, where, wait)
        elif not _take(descriptor):
            raise MachineError(
                f"device {device} is held by {_holder(where)}; wait for it, as run and gate do "
                "with --wait, or end it: two benchmarks at once measure each other"
            )
        os.ftruncate(descriptor, 0)
        holder = {"pid": os.getpid(), "command": command, "since": time.time()}
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> bool:
    """Take the lock if it is free; whether this process holds it now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_until_free(descriptor: int, device: str, where: Path, tell: Callable[[str], None]) -> None:
    """Try again until the lock is free. Trying twice a second disturbs no measurement, and Ctrl-C ends it."""
    shown: str | None = None
    while not _take(descriptor):
        holder = _holder_text(where)
        if shown is None or (holder and holder != shown):  # another one may have been faster
            shown = holder
            tell(f"waiting for device {device}, held by {_holder(where)}")
        time.sleep(POLL_SECONDS)


def _holder_text(where: Path) -> str:
    try:
        return where.read_text()
    except OSError:  # a cleaner of temporary folders was there
        return ""


def _open(path: Path) -> int:
    """The lock's file, which every user of the machine may hold."""
    # In a folder that everybody may write to, a link could lead anywhere. A child that
    # inherited the descriptor would hold the lock after this process's death (flock(2)).
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileNotFoundError):
        # First without O_CREAT: in a sticky folder the kernel may refuse it for
        # another user's file (fs.protected_regular, proc_sys_fs(5)).
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_CREAT, 0o666)
    with suppress(PermissionError):  # another user was faster
        os.fchmod(descriptor, 0o666)  # the umask took it from others
    return descriptor


def held_by(device: str, path: Path | None = None) -> str | None:
    """Who holds the lock and since when; None when it is free."""
    where = path or lock_path(device)
    if not where.exists():
        return None
    with where.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _holder(where)
    return None


def _holder(where: Path) -> str:
    try:
        holder = json.loads(where.read_text())
        age = format_seconds(max(0.0, time.time() - holder["since"]), 2)
    except (OSError, ValueError, KeyError, TypeError):
        return "another process, which has not said its name"
    return f'process {holder["pid"]} ("{holder["command"]}") for {age}'
