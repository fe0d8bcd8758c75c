"""Where a gate's worktrees lie: a temporary folder that no later gate finds left behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.core.errors import MachineError

PREFIX = "seqsweep-gate-"


@contextmanager
def locked_folder() -> Generator[Path]:
    """An empty folder, gone at the end. What gates that were killed have left goes first.

    A living gate holds a lock on its folder, which the kernel releases however the gate ends.
    """
    try:
        _refuse(tempfile.gettempdir())
        _sweep()
        folder, descriptor = _make_locked()
    except OSError as error:
        raise MachineError(
            f"no temporary folder can be made ({error.strerror}); free space there, or set TMPDIR"
        ) from None
    try:
        yield folder.resolve()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _refuse(place: str) -> None:
    """The folder stands on an import path, which would be cut in two there."""
    if os.pathsep in place:
        raise MachineError(
            f'no base can be imported from {place}, since "{os.pathsep}" separates folders; set TMPDIR'
        )


def _make_locked() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):  # another gate took it for one left behind
            descriptor = _open(folder)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if folder.exists():
                return folder, descriptor
            os.close(descriptor)


def _sweep() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, or of a gate that lives
            descriptor = _open(folder)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
