"""Source files of implementations, checked for edits during a run: records name the hash at its start."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from harness.catalog.catalog import Catalog
from harness.catalog.source_hash import closure, content, has_changed


class SourceFiles:
    """The source files of implementations by name, with their content at the start of the run."""

    def __init__(self, catalog: Catalog, implementations: Iterable[str]) -> None:
        self.files: dict[str, list[Path]] = {}
        for name in implementations:
            info = catalog.implementation(name)
            for path in sorted(closure(Path(info.file), Path(catalog.family(info.family).file))):
                with suppress(OSError):  # loading it will report the error
                    content(path)
                    self.files.setdefault(name, []).append(path)

    def changed(self, implementation: str) -> str | None:
        """Why a new process would run another source than the record names; None if it would not."""
        for path in self.files.get(implementation, ()):
            if has_changed(path):
                why = "has changed since the run started, so its record would name the old source"
                return f"{path} {why}; run it again"
        return None
