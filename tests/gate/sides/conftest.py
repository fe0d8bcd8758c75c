"""Temporary git repositories with a small `impls` package, and the candidate in them."""

import os
import shutil
from pathlib import Path

import pytest

from harness.catalog.discovery import catalog_elsewhere
from harness.gate.sides.base import base_of
from harness.gate.sides.side import Side
from tests.repositories import NO_USER, Repository

PROGRAM = Path(__file__).resolve().parents[3]
FAMILY = """
from dataclasses import dataclass
from harness import Array, Family, Semantics, axis, exact

@dataclass(frozen=True)
class Points:
    seq: int = axis()

FAMILY = Family(
    name="points",
    question="?",
    workload=Points,
    shapes=lambda w: {"x": Array((w.seq,), "f64")},
    inputs=lambda w, rng: {"x": rng.standard_normal(w.seq)},
    semantics={"double": Semantics("double", lambda w, rows: lambda x: 2 * x, exact())},
)
"""


CLASS = FAMILY[FAMILY.index("@dataclass") : FAMILY.index("FAMILY =")]
WORKLOAD = f"from dataclasses import dataclass\nfrom harness import axis\n\n{CLASS}"
TABLE = FAMILY.replace(CLASS, "from .workload import Points\n\n")


def variant(name, sentence="", home="from .family import Points"):
    return f'''
from harness import implementation
{home}

@implementation(framework="numpy", semantics="double")
def {name}(w: Points):
    """{sentence or name}"""
    return lambda x: x + x
'''


def plugin(name, sentence=""):
    text = variant(name, sentence, "from impls.points.family import Points")
    return text.replace("from harness import", "from seqsweep import")


@pytest.fixture(autouse=True)
def no_git_configuration(monkeypatch, tmp_path):
    """Git without this machine's configuration and without variables of a hook."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in {**NO_USER, "PYTHONPATH": ""}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")


@pytest.fixture
def repository(tmp_path):
    def make(name="work"):
        return Repository(tmp_path / name)

    return make


@pytest.fixture
def project(repository):
    """`impls` with one family; its first commit has points/adds, and is origin/main."""
    made = repository()
    made.commit(
        {
            "impls/__init__.py": '"""All."""',
            "impls/points/__init__.py": "",
            "impls/points/family.py": FAMILY,
            "impls/points/adds.py": variant("adds", "The base's."),
        }
    )
    made.origin_main()
    return made


@pytest.fixture
def candidate(project, tmp_path):
    """The candidate: the project's working tree and plugins."""

    def read(*plugins):
        links = tmp_path / "links"
        shutil.rmtree(links, ignore_errors=True)
        links.mkdir()
        (links / "harness").symlink_to(PROGRAM / "harness")
        (links / "seqsweep").symlink_to(PROGRAM / "harness/entry/seqsweep")
        (links / "impls").symlink_to(project.folder / "impls")
        return Side("candidate", "the working tree", catalog_elsewhere([str(links)], plugins))

    return read


@pytest.fixture
def enter_base(tmp_path, project):
    """`base_of` with the project's bench.yaml, all implementations and a scratch folder."""

    def enter(against, side, *plugins, wanted=None):
        config = project.folder / "bench.yaml"
        wanted = side.catalog.implementations if wanted is None else wanted
        return base_of(against, side, config, plugins, tmp_path / "scratch", wanted=wanted)

    return enter
