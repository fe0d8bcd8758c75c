"""The folders of this program, defined only here."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]  # harness/
PROJECT = PACKAGE.parent  # contains harness/ and impls/: a checkout, or the folder of an installed wheel
ENTRY = (
    PACKAGE / "entry" if (PACKAGE / "entry").is_dir() else PROJECT
)  # contains seqsweep/, which is at the top level of a wheel


def shown_path(file: str) -> str:
    """A path relative to the repository or to a base's; else only the file's name, without folders."""
    path = Path(file)
    if path.is_relative_to(PROJECT) and "site-packages" not in path.relative_to(PROJECT).parts:
        return path.relative_to(PROJECT).as_posix()
    # A base's `impls` is in a worktree or behind a link: its files are shown as paths in a checkout.
    is_ours = "impls" in path.parts and "site-packages" not in path.parts
    beyond = path.parts[::-1].index("impls") + 1 if is_ours else 1
    return Path(*path.parts[-beyond:]).as_posix()
