"""Device lock: one benchmark per device at a time, because concurrent benchmarks disturb each other.

Each user has a lock file. Locks of other users are found in the kernel's list of locks, without opening
their files; so no user can block another's file. Benchmarks in different containers, or with different
TMPDIR, do not see each other.
"""

import os
import pwd
import re
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from harness.core.errors import MachineError
from harness.core.file_lock import FileLock, Holder
from harness.core.scratch_folder import temporary_root
from harness.core.typed_command import typed_command

POLL_SECONDS = 0.5
LISTED = Path("/proc/locks")
# `1: FLOCK  ADVISORY  WRITE 4242 fe:00:2146409 0 EOF`: process, and inode of the file (proc_locks(5)).
HELD = re.compile(r"^\d+: FLOCK +ADVISORY +WRITE +(\d+) \w+:\w+:(\d+) ", re.MULTILINE)


def lock_path(device: str) -> Path:
    return temporary_root() / f"seqsweep-{device}-{os.geteuid()}.lock"


@contextmanager
def device_lock(
    device: str,
    command: str | None = None,
    path: Path | None = None,
    *,
    wait: Callable[[str], None] | None = None,
) -> Generator[None]:
    """Lock `device` for this process; MachineError names the process that has locked it, and since when.

    The lock is signed with `command` (default: the typed command). With `wait` the process waits until the
    device is free instead, and calls `wait` with a sentence about each holder.
    """
    where = path or lock_path(device)
    try:
        lock = FileLock(where)
    except OSError as error:
        raise MachineError(
            f"{where} cannot be locked ({error.strerror}); remove it, or set TMPDIR to your own folder"
        ) from None
    with closing(lock):
        shown = None
        while holder := _take(lock, device, command or " ".join(typed_command()), where):
            if wait is None:
                raise MachineError(
                    f"device {device} is in use by {holder}; wait for it (run and gate: --wait) or end it, "
                    "because two benchmarks at once disturb each other"
                )
            if holder != shown:
                shown = holder
                wait(f"waiting for device {device}, in use by {holder}")
            time.sleep(POLL_SECONDS)  # trying twice a second disturbs no measurement
        yield


def _take(lock: FileLock, device: str, command: str, where: Path) -> Holder | None:
    """Try to take the lock; None on success, else the holder."""
    if not lock.take(command):
        return lock.holder()
    # Only after taking its own lock: if two users start at once, each then sees the other and gives up.
    holder = _other_user(device, where)
    if holder:
        lock.release()
    return holder


def _other_user(device: str, own: Path) -> Holder | None:
    """The holder of another user's lock of this device, from the kernel's list; None without one."""
    try:
        holders = {int(inode): int(pid) for pid, inode in HELD.findall(LISTED.read_text(encoding="ascii"))}
    except OSError:  # a kernel without the list
        return None
    for path in own.parent.glob(f"seqsweep-{device}-*.lock"):
        with suppress(OSError):  # the file or the process has just gone
            status = path.stat(follow_symlinks=False)
            pid = holders.get(status.st_ino)
            # Inode numbers repeat across file systems, so the process must also belong to the file's owner.
            if path != own and pid and Path(f"/proc/{pid}").stat().st_uid == status.st_uid:
                return Holder(pid, f"of user {_name_of(status.st_uid)}", status.st_mtime)
    return None


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
