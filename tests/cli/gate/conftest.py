"""Throw-away git repositories with a small plugin, in which `seqsweep gate` runs as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.forked import HEEDING_CTRL_C
from tests.repositories import NO_USER, Repository

PROGRAM = Path(__file__).resolve().parents[3] / "cli.py"
HEAD = '''\
"""Points, doubled."""

from dataclasses import dataclass

from harness import Array, Family, Semantics, axis, exact, implementation


@dataclass(frozen=True)
class Points:
    seq: int = axis()
{fields}

FAMILY = Family(
    name="points",
    question="What does doubling take?",
    workload=Points,
    shapes=lambda w: {{"x": Array((w.seq,), "f32")}},
    inputs=lambda w, rng: {{"x": rng.integers(0, 100, w.seq).astype("f4")}},
    semantics={{"double": Semantics("double", lambda w, rows: lambda x: 2 * x, exact())}},
)
'''


def plugin(fields="", **bodies):
    """A family and an implementation per keyword: `("jax", "return lambda x: x + x")`, or such a body."""
    parts = [HEAD.format(fields=f"    {fields}\n" if fields else "")]
    for name, body in bodies.items():
        framework, lines = body if isinstance(body, tuple) else ("numpy", body)
        indented = "\n".join(f"    {line}" for line in lines.splitlines())
        header = f'@implementation(framework="{framework}", semantics="double")\ndef {name}(w: Points):\n'
        parts.append(header + indented + "\n")
    return "\n\n".join(parts)


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """A separate temporary folder means a separate device lock, and shows which files are left behind."""
    return {
        **NO_USER,
        "TMPDIR": str(tmp_path_factory.mktemp("tmp")),
        "GITHUB_ACTIONS": "",
        "GITHUB_STEP_SUMMARY": "",
    }


@pytest.fixture(scope="session")
def gate(seqsweep, environment):
    """`gate(repository, *words)`, one call of the command line."""

    def ask(where, *words, **more):
        folder = where.folder if isinstance(where, Repository) else where
        return seqsweep("gate", *words, folder=folder, **{**environment, **more})

    return ask


@pytest.fixture(scope="session")
def start(environment):
    """A gate in the background, which tests may disturb. None outlives the tests."""
    running = []

    def begin(where, *words):
        process = subprocess.Popen(
            [sys.executable, "-c", HEEDING_CTRL_C, sys.executable, str(PROGRAM), "gate", *words],
            cwd=where.folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture(scope="session")
def repositories(tmp_path_factory):
    """A new repository in a separate folder, by name."""
    return lambda name, place=None: Repository((place or tmp_path_factory.mktemp("git")) / name)


@pytest.fixture(scope="session")
def plugin_of():
    return plugin


@pytest.fixture
def left_behind(environment):
    """The files that gates left in their temporary folder, except the lock file."""
    folder = Path(environment["TMPDIR"])
    return lambda: sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")
