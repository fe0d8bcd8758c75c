"""Temporary folder for a gate's worktrees; those of gates that were killed are removed by the next gate."""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from harness.core.errors import MachineError
from harness.core.file_lock import FileLock, holder_of

PREFIX = "seqsweep-gate-"
LOCK = "gate.lock"  # of a living gate, whose death frees it however it dies


@contextmanager
def temp_folder() -> Generator[Path]:
    """A folder with nothing but a lock, removed at the end, and what killed gates have left with it."""
    try:
        _remove_leftovers()
        folder = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        lock = FileLock(Path(folder.name, LOCK))
    except OSError as error:
        raise MachineError(
            f"no temporary folder can be made ({error.strerror}); free space there, or set TMPDIR"
        ) from None
    with folder as path, closing(lock):
        lock.take("seqsweep gate")
        yield Path(path).resolve()


def _remove_leftovers() -> None:
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError):  # another user's
            if holder_of(lock) is None:
                shutil.rmtree(lock.parent, ignore_errors=True)
