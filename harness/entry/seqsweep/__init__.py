"""The `seqsweep` command, and what a plugin imports (`from seqsweep import implementation`).

A folder on the import path, for example the current folder, may contain another project's `harness` or
`impls`. Therefore this module checks where both come from before it imports either.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from harness.catalog.face import *  # noqa: F403 - editors and type checkers see what __getattr__ returns
    from harness.catalog.known_frameworks import FrameworkTraits as FrameworkTraits
    from harness.catalog.known_frameworks import Package as Package
    from harness.frames.load import load as load

# This file is next to `harness` in an installed wheel, and inside it in a checkout.
HOME = next(place for place in Path(__file__).resolve().parents if (place / "harness/__init__.py").is_file())


def describe_foreign(*packages: str) -> str | None:
    """Describe the first of these packages that Python would import from a folder other than HOME."""
    for name in packages:
        spec = find_spec(name)
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        if origin is None:
            return f'"{name}" is not found; put {HOME} on the import path'
        if origin.parent != HOME / name:
            place = origin.parent if origin.name == "__init__.py" else origin
            return (
                f'"{name}" would be imported from {place}, not from {HOME}; '
                f"remove {place.parent} from the import path (PYTHONPATH or the current folder), or rename it"
            )
    return None


OFFERED = {  # name → module that defines it, imported when the name is first used
    "load": "harness.frames.load",
    "FrameworkTraits": "harness.catalog.known_frameworks",
    "Package": "harness.catalog.known_frameworks",
}


def __getattr__(name: str) -> Any:
    """Look up a name of the harness: OFFERED for notebooks and frameworks, the rest for implementations."""
    if not name.startswith("__"):  # tools that inspect a module look up names like this
        if problem := describe_foreign("harness"):
            raise ImportError(problem)
        if name in OFFERED:
            return getattr(import_module(OFFERED[name]), name)
        from harness.catalog import face

        # All at once, because a plugin uses a dozen of them, in each worker again.
        globals().update({each: getattr(face, each) for each in face.__all__})
        if name in face.__all__:
            return globals()[name]
    raise AttributeError(f"module 'seqsweep' has no attribute {name!r}")


def main() -> NoReturn:
    """Run the command line. Exit with 2 if another `harness` or `impls` would be imported."""
    try:
        if problem := describe_foreign("harness", "impls"):
            sys.stderr.write(f"seqsweep: {problem}\n")
            sys.exit(2)
        from harness.commands.app import main as run_command
    except KeyboardInterrupt:  # while loading, which takes a second
        sys.stderr.write("seqsweep: stopped\n")
        sys.exit(130)
    run_command()
