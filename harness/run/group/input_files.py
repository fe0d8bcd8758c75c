"""The files of a group's inputs, which every case's process can write to and none may."""

from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

PATTERNS = ("set*/*", "fresh*/*", "cotangent*/*")

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
        paths = [path for pattern in PATTERNS for path in self.folder.glob(pattern)]
        stats: Stats = {}
        for path in paths:
            with suppress(FileNotFoundError):  # gone meanwhile: no longer as it was noted
                stat = path.lstat()
                stats[str(path.relative_to(self.folder))] = (stat.st_ino, stat.st_size, stat.st_ctime_ns)
        return stats
