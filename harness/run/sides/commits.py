"""Which commit of which repository the base is made of."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from harness.catalog.catalog import Catalog
from harness.run.sides.repository import NoHistory, commit_of, default_commit, toplevel
from harness.spec.errors import UsageError


def chosen(catalog: Catalog, wanted: Collection[str], ref: str | None) -> tuple[dict[Path, str], str]:
    """(the commit of every repository that holds a wanted implementation, what people are told).

    UsageError when there is none, or one of them does not know `ref`; NoHistory when there is no default.
    """
    files = sorted({catalog.implementations[name].file for name in wanted})
    repositories = sorted({top for file in files if (top := toplevel(Path(file)))})
    if not repositories:
        problem = "there is no git here" if shutil.which("git") is None else "no git repository holds them"
        raise (NoHistory if ref is None else UsageError)(
            f"the base of {', '.join(files[:3])} cannot be known, because {problem}; "
            "commit them to one, or use --against impl:NAME or py:INTERPRETER"
        )
    commits: dict[Path, str] = {}
    words: list[str] = []
    for repo in repositories:
        commit, how = default_commit(repo) if ref is None else (commit_of(repo, ref), ref)
        commits[repo] = commit
        words.append(
            f"git:{commit[:7]} ({how})" if len(repositories) == 1 else f"{repo.name} {commit[:7]} ({how})"
        )
    says = words[0] if len(words) == 1 else f"git: {', '.join(words)}"
    return commits, says
