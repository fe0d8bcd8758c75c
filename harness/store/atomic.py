"""Atomic writing: a crash leaves the old file or the new one, and a full disk raises MachineError."""

import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from harness.core.errors import MachineError


def write_error(path: Path, error: OSError) -> MachineError:
    """The error, with a remedy, for a file that cannot be written."""
    return MachineError(
        f"{path}: cannot be written ({error.strerror or error}); "
        "free space, allow writing there, or use another folder with --results or --out"
    )


def make_folder(folder: Path) -> None:
    """Create a folder with its parents, unless it already exists. Raises MachineError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(folder, error) from None


def write_all(descriptor: int, data: bytes) -> None:
    """Write and flush all bytes; `os.write` may take only some of them."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def replace(path: Path, data: bytes) -> None:
    """Write a whole file: complete under a temporary name, then renamed. Raises MachineError."""
    temporary: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        temporary.chmod(_mode_of(path))  # mkstemp's files are readable only by their owner
        temporary.replace(path)
    except OSError as error:
        raise write_error(path, error) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _mode_of(path: Path) -> int:
    """The permissions of an existing file, so that a private file stays private; else 0644."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0o644


def write_files(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write whole files by name into a folder, which is created if missing. Raises MachineError."""
    make_folder(folder)
    for name, data in contents.items():
        replace(folder / name, data)
    return [folder / name for name in contents]
