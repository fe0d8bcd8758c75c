"""A scratch folder in TMPDIR with a lock. The next command removes the folders of killed commands.

The lock file gets its name only after it is locked, so a free lock means that its owner is dead.
"""

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from harness.core.errors import MachineError
from harness.core.file_lock import FileLock, holder_of

PREFIX = "seqsweep-"
LOCK = "scratch.lock"


def temporary_root() -> Path:
    """TMPDIR, or Python's next choice. MachineError if no such folder is writable."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        raise MachineError("no folder for temporary files is writable; free space, or set TMPDIR") from None


def shared_folder(name: str) -> Path:
    """The folder in TMPDIR that processes of this user share by its name.

    MachineError if a link or another user's folder has that name, or if other users can write to it.
    """
    path = temporary_root() / f"{PREFIX}{os.geteuid()}-{name}"
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.stat(follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022:
        return path
    why = "it must be this user's folder, and not writable for others"
    raise MachineError(f"{path} cannot be used: {why}; remove it, or set TMPDIR to your own folder")


class ScratchFolder:
    """A new folder, empty except for its lock, deleted at the end of the block, or by `close`.

    MachineError if it cannot be created. On a filesystem without locks, later commands do not remove it.
    """

    def __init__(self, kind: str = "") -> None:
        _remove_leftovers()
        try:
            self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}")).resolve()
        except OSError as error:
            root = temporary_root()
            raise MachineError(
                f"cannot create a folder in {root} ({error.strerror}); free space, or set TMPDIR"
            ) from None
        unnamed = self.path / f".{LOCK}"
        self._lock: FileLock | None = None
        with suppress(OSError):
            self._lock = FileLock(unnamed)
            self._lock.take(f"seqsweep {kind.rstrip('-')}".rstrip())
            unnamed.rename(self.path / LOCK)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _remove_leftovers() -> None:
    for lock in temporary_root().glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError):  # another user's
            if holder_of(lock) is None:
                shutil.rmtree(lock.parent, ignore_errors=True)
