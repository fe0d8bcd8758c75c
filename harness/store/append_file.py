"""A file of lines that one process appends to, and what others put into it meanwhile."""

import os
import zlib
from pathlib import Path

from harness.core.errors import MachineError
from harness.core.regular_file import open_descriptor, open_regular
from harness.store.atomic import write_all

CHUNK_BYTES = 1 << 20


class AppendFile:
    """An append-only file that remembers where its last write ended, and the checksum up to there.

    Implementations run as the same user: nothing keeps them from writing here, but it is noticed.
    Raises OSError where the file cannot be opened, read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end: int | None = None  # None: nothing was written or trusted yet
        self.checksum = 0

    def trust(self) -> None:
        """Take the file as it is now, whoever wrote it; a missing one is empty."""
        self.end, self.checksum = self._measure() if self.path.exists() else (0, 0)

    def append(self, data: bytes) -> None:
        """Write behind what is trusted, in one flushed write; when it fails the file is as before.

        MachineError where the trusted part ends in a torn line.
        """
        # Not O_APPEND: what another process adds between looking and writing is overwritten or left
        # behind the end, and never stands between two lines of one append.
        descriptor = open_descriptor(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if self.end is None:
                self.trust()
            before = end, checksum = self.end or 0, self.checksum
            if end and os.pread(descriptor, 1, end - 1) != b"\n":
                raise MachineError(
                    f"{self.path} ends in a torn line, or was cut; go on with run --resume, which mends it"
                )
            try:
                os.lseek(descriptor, end, os.SEEK_SET)
                write_all(descriptor, data)
                self.end, self.checksum = end + len(data), zlib.crc32(data, checksum)
            except BaseException:  # also Ctrl-C between two partial writes
                self.end, self.checksum = before
                os.ftruncate(descriptor, end)
                raise
        finally:
            os.close(descriptor)

    def foreign(self) -> bytes:
        """What others have written behind this file's own last write."""
        if self.end is None or not self.path.exists():
            return b""
        with open_regular(self.path) as file:
            file.seek(self.end)
            return file.read()

    def drop_foreign(self) -> None:
        if self.end is not None:
            os.truncate(self.path, self.end)

    def is_intact(self) -> bool:
        """Whether all that was written or trusted still stands as it was."""
        try:
            return self.end is None or self._measure(self.end) == (self.end, self.checksum)
        except OSError:  # it is gone, or no file any more
            return False

    def _measure(self, limit: int | None = None) -> tuple[int, int]:
        """(bytes, checksum) of the file, or of its first `limit` bytes."""
        size = checksum = 0
        with open_regular(self.path) as file:
            while chunk := file.read(CHUNK_BYTES if limit is None else min(CHUNK_BYTES, limit - size)):
                size, checksum = size + len(chunk), zlib.crc32(chunk, checksum)
        return size, checksum
