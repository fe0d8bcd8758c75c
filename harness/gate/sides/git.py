"""Git queries of a gate: which repository holds a file, and which commit the candidate is compared with.

They use this disk alone: git runs no hooks, uses no network and asks for no password.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from harness.core.errors import MachineError, UsageError

SECONDS = 60.0
MAIN = "refs/remotes/origin/main"
MASTER = "refs/remotes/origin/master"  # where there is no main

# Git sets these for its hooks; inherited, they would redirect our commands to the hook's repository.
OF_A_HOOK = re.compile("GIT_(?!CONFIG|CEILING|DISCOVERY)")
QUIET = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",  # `git status` would refresh the index file
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch what it lacks
}


def git(folder: Path, *words: str, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
    """Run git in a folder. MachineError when it cannot be run, or takes too long."""
    environment = {name: value for name, value in os.environ.items() if not OF_A_HOOK.match(name)}
    try:
        return subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", "-C", str(folder), *words],
            env={**environment, **QUIET},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=seconds,
            check=False,
        )
    except OSError as error:
        raise MachineError(f"git cannot be run ({error.strerror}); install it") from None
    except subprocess.TimeoutExpired:
        raise MachineError(f"git {words[0]} in {folder} took more than {seconds:g} s; try again") from None


def toplevel(path: Path) -> Path | None:
    """The repository that holds a file or a folder; None where no repository does, or git is missing.

    None too for a file that the repository ignores, such as one in a virtual environment inside it.
    """
    place = path.resolve()
    folder = place if place.is_dir() else place.parent
    if shutil.which("git") is None:
        return None
    answer = git(folder, "rev-parse", "--show-toplevel")
    if "dubious ownership" in answer.stderr:
        raise MachineError(
            f"git refuses the repository around {folder}, which another user owns; "
            "run git config --global --add safe.directory with its folder"
        )
    if answer.returncode or not answer.stdout:
        return None
    top = Path(answer.stdout.removesuffix("\n")).resolve()
    ignored = place != top and git(top, "check-ignore", "--quiet", "--", str(place)).returncode == 0
    return None if ignored else top


def commit_of(repo: Path, ref: str) -> str:
    """The commit that a ref names. UsageError where the repository has no such ref."""
    commit = _commit(repo, ref)
    if commit is None:
        fetch = shlex.join(["git", "-C", str(repo), "fetch", "origin", ref])
        raise UsageError(
            f'{repo} knows no commit "{ref}"; correct the name, or run {fetch} and name its FETCH_HEAD'
        )
    return commit


def default_commit(repo: Path) -> tuple[str, str]:
    """(the default base commit, how it was chosen). UsageError where the clone lacks what decides it.

    On a branch: the merge base with origin/main, or with origin/master where only that exists. On main
    itself: HEAD if there are uncommitted changes, else its first parent.
    """
    head = _commit(repo, "HEAD")
    ref = MAIN if _commit(repo, MAIN) or not _commit(repo, MASTER) else MASTER
    main, name = _commit(repo, ref), ref.removeprefix("refs/remotes/")
    if head is None:
        raise UsageError(f"{repo} has no commit yet; commit, or name a base with --against impl:NAME")
    if main is None:
        raise _no_history(repo, "origin/main is not known")
    base = git(repo, "merge-base", head, main).stdout.strip()
    if not base:
        raise _no_history(repo, f"HEAD and {name} have no common ancestor", ref)
    if base != head:
        return base, f"merge base with {name}"
    if _has_edits(repo):
        return head, "HEAD, without what is not committed"
    parent = _commit(repo, f"{head}^")
    if parent is None:
        raise _no_history(repo, f"HEAD is in {name} and its parent is not known", ref)
    return parent, f"first parent of HEAD, which is in {name}"


def edited_files(repo: Path, tree: Path) -> list[Path]:
    """The tracked files that differ from a worktree's commit, as places in the repository."""
    commit = git(tree, "rev-parse", "HEAD").stdout.strip()
    answer = git(repo, "diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", commit, "--")
    if answer.returncode:
        raise MachineError(f"git cannot compare {repo} with {commit[:7]}: {answer.stderr.strip()}")
    return [repo / name for name in answer.stdout.split("\0") if name]


def new_files(repo: Path) -> list[Path]:
    """The files that are neither tracked nor ignored."""
    listing = git(repo, "ls-files", "--others", "--exclude-standard", "-z").stdout
    return [repo / name for name in listing.split("\0") if name]


def _has_edits(repo: Path) -> bool:
    """Whether the tree differs from HEAD. Of untracked files only modules count: builds leave others."""
    tracked = git(repo, "status", "--porcelain", "--untracked-files=no").stdout
    return bool(tracked) or bool(_modules_not_added(repo))


def _modules_not_added(repo: Path) -> list[Path]:
    return sorted(file for file in new_files(repo) if file.suffix == ".py")


def _commit(repo: Path, ref: str) -> str | None:
    if not ref or ref.startswith("-"):  # git would read an option
        return None
    return git(repo, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").stdout.strip() or None


def _no_history(repo: Path, what: str, ref: str = MAIN) -> UsageError:
    shallow = git(repo, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    depth = ["--unshallow"] if shallow else []
    fetch = shlex.join(["git", "-C", str(repo), "fetch", *depth, "origin", f"{ref.rpartition('/')[2]}:{ref}"])
    where = f"{repo}, a shallow clone" if shallow else str(repo)
    return UsageError(f"{what} in {where}; run {fetch}, or name a base with --against git:REF")
