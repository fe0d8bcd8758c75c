"""Write detection for the files of a group's inputs: every case's process could write to them, none may."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

GONE = (FileNotFoundError, NotADirectoryError, PermissionError)  # a case may have removed them
KINDS = ("set", "fresh", "cotangent")  # prefixes of their folders' names

Stats: TypeAlias = dict[str, tuple[int, int, int]]


class InputFiles:
    """Detects whether a file has been written to since :meth:`note`.

    By inode, size and ctime, which the kernel sets at every change and utime(2) cannot set back.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.noted: Stats = {}

    def note(self) -> None:
        """Note the state of the files that are new since the last call."""
        self.noted = {**self._stats(), **self.noted}

    def changed(self) -> str | None:
        """A file, such as set0/scores.raw, whose state differs from the noted one; None if there is none."""
        now = self._stats()
        names = sorted(self.noted.keys() | now.keys())
        return next((name for name in names if now.get(name) != self.noted.get(name)), None)

    def _stats(self) -> Stats:
        stats: Stats = {}
        for folder in _entries(self.folder):
            for file in _entries(folder) if folder.name.startswith(KINDS) else ():
                with suppress(*GONE):  # `changed` reports it as missing
                    stat = file.stat(follow_symlinks=False)
                    stats[f"{folder.name}/{file.name}"] = (stat.st_ino, stat.st_size, stat.st_ctime_ns)
        return stats


def _entries(folder: os.PathLike[str]) -> list[os.DirEntry[str]]:
    """The entries of a folder; empty if it is gone. Path.glob takes three times as long."""
    with suppress(*GONE), os.scandir(folder) as entries:
        return list(entries)
    return []
