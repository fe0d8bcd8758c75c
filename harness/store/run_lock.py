"""The lock of a run's folder: one process writes to it, and readers need none."""

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

from harness.core.errors import MachineError
from harness.core.file_lock import FileLock
from harness.store.atomic import write_error

LOCK = "run.lock"  # a file of its own, because records.jsonl and run.json are replaced at times


@contextmanager
def run_lock(folder: Path, command: str, tell: Callable[[str], None]) -> Generator[None]:
    """Hold the lock for as long as the block; MachineError names who else holds it, and since when.

    Where the file system has no locks, `tell` is given a sentence, and the block runs without one.
    """
    path = folder / LOCK
    try:
        lock = FileLock(path)
    except OSError as error:
        raise write_error(path, error) from None
    with closing(lock):
        try:
            taken = lock.take(command)
        except OSError as error:
            taken = True
            tell(f"{path} cannot be locked ({error.strerror}): start no second run --resume of it")
        if not taken:
            raise MachineError(
                f"run {folder.name} is being written by {lock.holder()}; wait for it, or end it"
            )
        yield
