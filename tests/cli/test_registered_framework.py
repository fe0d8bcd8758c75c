"""A framework from outside: a package's entry point, and no file of this project knows of it."""

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, call
from tests.repositories import Repository

PLUGIN = '''\
"""Points, doubled."""

from dataclasses import dataclass

from seqsweep import Array, Family, Semantics, axis, exact, implementation, stage


@dataclass(frozen=True)
class Points:
    seq: int = axis()


def twice(w, rows):
    from tables.framework import Table, array

    return lambda x: Table(array("d", [number + number for number in x.values]), x.shape, x.dtype)


FAMILY = Family(
    name="points",
    question="What does doubling take?",
    workload=Points,
    shapes=lambda w: {"x": Array((w.seq,), "f32")},
    inputs=lambda w, rng: {"x": rng.integers(0, 100, w.seq).astype("f4")},
    semantics={"double": Semantics("double", twice, exact(), framework="FRAMEWORK")},
    stages=("double",),
)


@implementation(framework="FRAMEWORK", semantics="double")
def doubled(w: Points):
    """Twice every number of a table."""
    from tables.framework import Table, array

    def double(x):
        with stage("double"):
            return Table(array("f", [2 * number for number in x.values]), x.shape, x.dtype)

    return double
'''
BENCH = """\
plugins: [points.py]
defaults: {budget: 50ms, timeout: 60s, memory: 1GiB}
suites:
  points: {family: points, seq: [256, 512], impls: [doubled]}
"""


def write(folder, framework="tables"):
    (folder / "bench.yaml").write_text(BENCH)
    (folder / "points.py").write_text(PLUGIN.replace("FRAMEWORK", framework))
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Where a package is installed that registers a framework."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(Path(__file__).parent / "tables", folder / "tables")
    about = folder / "tables_for_seqsweep-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tables-for-seqsweep\nVersion: 1.5\n")
    (about / "entry_points.txt").write_text("[seqsweep.frameworks]\ntables = tables:TRAITS\n")
    return folder


@pytest.fixture(scope="module")
def ask(site, tmp_path_factory):
    work = Repository(tmp_path_factory.mktemp("points") / "work")
    write(work.folder)
    work.commit({".gitignore": "results/\ntmp/\ncharts/\n"})
    path = os.pathsep.join([str(site), str(ROOT), str(ROOT / "harness/entry")])

    def ask(*words):
        said = call(work.folder, *words, PYTHONPATH=path)
        assert "Traceback" not in said.err, said.err
        return said

    ask.work = work
    return ask


@pytest.fixture(scope="module")
def records(ask):
    said = ask("run", "--json")
    assert said.code == 0, said.err
    return said.json["records"]


def test_its_cases_are_checked_and_timed(records):
    assert [(one["framework"], one["status"], one["seq"]) for one in records] == [
        ("tables", "ok", 256),
        ("tables", "ok", 512),
    ]
    assert all(one["correctness"]["passed"] and one["timing"]["median_s"] > 0 for one in records)


def test_figures_that_it_does_not_plan_are_missing_with_a_reason(ask):
    said = ask("static", "--target", "host", "--json")
    assert "tables are not planned" in said.out


def test_its_stages_are_timed(ask):
    said = ask("profile", "points/doubled", "--seq", "256", "--json")
    assert said.code == 0, said.err
    assert '"double"' in said.out


def test_an_unregistered_name_is_one_sentence(ask, site, tmp_path):
    write(tmp_path, "tabels")
    path = os.pathsep.join([str(site), str(ROOT), str(ROOT / "harness/entry")])
    said = call(tmp_path, "list", "--json", PYTHONPATH=path)
    assert said.code == 2
    assert (
        'unknown framework "tabels"; nearest: "tables"; known: jax, numpy, pallas, tables, torch, triton;'
        in said.err
    )
    assert "seqsweep.frameworks" in said.err


def test_a_gate_compiles_and_checks_it_on_both_sides(ask):
    ask.work.write({"points.py": PLUGIN.replace("FRAMEWORK", "tables").replace("2 * number", "3 * number")})
    said = ask("gate", "--static", "--against", "git:HEAD", "--json")
    assert ({case["verdict"] for case in said.json["cases"]}, said.code) == ({"incorrect"}, 4), said.err
