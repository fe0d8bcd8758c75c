"""The files of a group's inputs, which every case's process can write to and none may."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

GONE = (FileNotFoundError, NotADirectoryError, PermissionError)  # what a case may have done to them
KINDS = ("set", "fresh", "cotangent")  # what their folders' names begin with

Stats: TypeAlias = dict[str, tuple[int, int, int]]


class InputFiles:
    """Tells whether a file has been written to since `note`.

    By inode, size and time of change: the kernel sets the last, and utime(2) cannot set it back.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.noted: Stats = {}

    def note(self) -> None:
        """Take the files that are new for what was meant."""
        self.noted = {**self._stats(), **self.noted}

    def changed(self) -> str | None:
        """A file, as in set0/scores.raw, that is no longer as it was noted."""
        now = self._stats()
        names = sorted(self.noted.keys() | now.keys())
        return next((name for name in names if now.get(name) != self.noted.get(name)), None)

    def _stats(self) -> Stats:
        stats: Stats = {}
        for folder in _entries(self.folder):
            for file in _entries(folder) if folder.name.startswith(KINDS) else ():
                with suppress(*GONE):  # no longer as it was noted
                    stat = file.stat(follow_symlinks=False)
                    stats[f"{folder.name}/{file.name}"] = (stat.st_ino, stat.st_size, stat.st_ctime_ns)
        return stats


def _entries(folder: os.PathLike[str]) -> list[os.DirEntry[str]]:
    """What lies in a folder; nothing where it is none any more. Path.glob takes three times as long."""
    with suppress(*GONE), os.scandir(folder) as entries:
        return list(entries)
    return []
