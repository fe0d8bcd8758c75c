"""Where this program lies. No other file counts folders upward."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]  # harness/
PROJECT = PACKAGE.parent  # what holds harness/ and impls/: a checkout, or the folder a wheel went to
ENTRY = (
    PACKAGE / "entry" if (PACKAGE / "entry").is_dir() else PROJECT
)  # what holds seqsweep/: a wheel has it on top


def shown_path(file: str) -> str:
    """A path relative to the repository, else the file's name alone: never a machine's folders."""
    path = Path(file)
    if path.is_relative_to(PROJECT) and "site-packages" not in path.relative_to(PROJECT).parts:
        return path.relative_to(PROJECT).as_posix()
    return path.name
