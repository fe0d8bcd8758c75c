"""The files that a run's implementations are made of, as they were when it began: some may be edited."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from harness.catalog.catalog import Catalog
from harness.catalog.source_hash import closure


class Noted(NamedTuple):
    """What tells that a file is the same: at a look when it was last changed, else its content."""

    ctime_ns: int
    content: str


class SourceFiles:
    """The sources of implementations by name; a record holds their hash from before the run."""

    def __init__(self, catalog: Catalog, implementations: Iterable[str]) -> None:
        self.files: dict[str, set[Path]] = {}
        self.noted: dict[Path, Noted] = {}
        for name in implementations:
            info = catalog.implementation(name)
            self.files[name] = closure(Path(info.file), Path(catalog.family(info.family).file))
            for path in self.files[name] - self.noted.keys():
                if path.is_file():
                    self.noted[path] = Noted(path.stat().st_ctime_ns, _digest(path))

    def changed(self, implementation: str) -> Path | None:
        """The first file of an implementation that is not what it was; None of one that is not known."""
        files = sorted(self.files.get(implementation, ()))
        return next((path for path in files if path in self.noted and self._differs(path)), None)

    def _differs(self, path: Path) -> bool:
        before = self.noted[path]
        if not path.is_file():
            return True
        return path.stat().st_ctime_ns != before.ctime_ns and _digest(path) != before.content


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
