"""Temporary folder for a gate's worktrees; those of gates that were killed are removed by the next gate."""

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
    """An empty folder, removed at the end. Folders that killed gates have left are removed first.

    A living gate holds a lock on its folder, which the kernel releases however the gate ends.
    """
    try:
        _refuse_separator(tempfile.gettempdir())
        _remove_leftovers()
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


def _refuse_separator(place: str) -> None:
    """Refuse a path with the separator of import paths in it: the folder stands on one."""
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


def _remove_leftovers() -> None:
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
