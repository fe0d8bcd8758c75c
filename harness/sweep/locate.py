"""Which bench.yaml is meant."""

from __future__ import annotations

from pathlib import Path

from harness.spec.errors import UsageError
from harness.sweep.config import Config, load

FILE = "bench.yaml"


def configuration(named: Path | None = None) -> Config:
    """The file that --config names; else the nearest one upward; else the packaged one.

    With the packaged one, results/ and charts/ lie in the current folder.
    """
    if named is not None:
        return load(named)
    own = above(Path.cwd())
    return load(own) if own else load(packaged(), home=Path.cwd())


def find(start: Path | None = None) -> Path:
    """The bench.yaml in `start` (the current folder) or nearest above it, else the packaged one."""
    return above(start or Path.cwd()) or packaged()


def above(start: Path) -> Path | None:
    folder = start.absolute()
    candidates = (place / FILE for place in (folder, *folder.parents))
    return next((path for path in candidates if path.is_file()), None)


def packaged() -> Path:
    """The file a wheel carries inside the package, or the one beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for path in (package / FILE, package.parent / FILE):
        if path.is_file():
            return path
    raise UsageError(f"there is no {FILE} here or above; write one, or name one with --config")
