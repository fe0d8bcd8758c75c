"""The folders of this program. No other file counts folders upward."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]  # harness/
PROJECT = PACKAGE.parent  # what holds harness/ and impls/: a checkout, or the folder a wheel went to
ENTRY = (
    PACKAGE / "entry" if (PACKAGE / "entry").is_dir() else PROJECT
)  # what holds seqsweep/: a wheel has it on top


def shown_path(file: str) -> str:
    """A path relative to the repository, or to a base's; else the file's name alone, never its folders."""
    path = Path(file)
    if path.is_relative_to(PROJECT) and "site-packages" not in path.relative_to(PROJECT).parts:
        return path.relative_to(PROJECT).as_posix()
    # A base's `impls` lies in a worktree, or behind a link: its files are shown by their names in a checkout.
    is_ours = "impls" in path.parts and "site-packages" not in path.parts
    beyond = path.parts[::-1].index("impls") + 1 if is_ours else 1
    return Path(*path.parts[-beyond:]).as_posix()
