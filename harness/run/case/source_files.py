"""The files of implementations, as they were when their hashes were taken: some are edited meanwhile."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from harness.catalog.catalog import Catalog
from harness.catalog.source_hash import closure, content


class SourceFiles:
    """The sources of implementations by name; a record holds their hash from before the run."""

    def __init__(self, catalog: Catalog, implementations: Iterable[str]) -> None:
        self.files: dict[str, list[Path]] = {}
        self.contents: dict[Path, bytes] = {}
        for name in implementations:
            info = catalog.implementation(name)
            self.files[name] = sorted(closure(Path(info.file), Path(catalog.family(info.family).file)))
            for path in self.files[name]:
                with suppress(OSError):  # whoever loads it says what is wrong with it
                    self.contents[path] = content(path)

    def changed(self, implementation: str) -> str | None:
        """Why a new process would run another source than a record names; None where it would not."""
        for path in self.files.get(implementation, ()):
            if path in self.contents and self._differs(path):
                return (
                    f"{path} has changed since the run began, and its record would name what it was; "
                    "run it again"
                )
        return None

    def _differs(self, path: Path) -> bool:
        try:
            return path.read_bytes() != self.contents[path]
        except OSError:
            return True
