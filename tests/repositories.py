"""Throw-away git repositories, made without any configuration of this machine's."""

import os
import subprocess

NO_USER = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
}


class Repository:
    """A repository, with `origin/main` where the test puts it; a module is a keyword, by its name."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)
        self("init", "--initial-branch=main")

    def __call__(self, *words):
        command = ["git", "-C", str(self.folder), *words]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= NO_USER
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        return done.stdout.strip()

    def write(self, files=(), **modules):
        for name, text in {**dict(files), **{f"{name}.py": text for name, text in modules.items()}}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, files=(), tag="", **modules):
        self.write(files, **modules)
        self("add", "--all")
        self("commit", "--allow-empty", "--message", "x")
        if tag:
            self("tag", tag)
        return self("rev-parse", "HEAD")

    def origin_main(self, commit="HEAD"):
        self("update-ref", "refs/remotes/origin/main", commit)
