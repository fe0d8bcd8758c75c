"""A project reads bench.yaml and the catalog once, and plans the requested cases."""

import pytest

from harness.catalog import discovery
from harness.core.errors import UsageError
from harness.sweep import config as bench
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project

BENCH = """\
default: [one]
plugins: [own.py]
suites:
  one: {family: mask, seq: 256, rows: 4, topk: 8, impls: [scatter]}
  two: {family: topk, seq: 256, rows: 4, topk: 8, impls: [exact]}
"""
PLUGIN = '''\
from harness import implementation
from impls.mask.family import MaskWorkload


@implementation(framework="numpy", semantics="exact")
def {name}(w: MaskWorkload):
    """Nothing yet."""
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bench.yaml").write_text(BENCH)
    for name in ("own", "given"):
        (tmp_path / f"{name}.py").write_text(PLUGIN.format(name=name))
    return tmp_path


@pytest.fixture
def reads(monkeypatch):
    """The files and plugins that were read, in order."""
    log = []
    load, plugin = bench.load, discovery.plugin
    monkeypatch.setattr(bench, "load", lambda path, **more: log.append(path.name) or load(path, **more))
    monkeypatch.setattr(discovery, "plugin", lambda name: log.append(name.split("/")[-1]) or plugin(name))
    return log


def test_project_is_read_once_on_first_use(folder, reads):
    project = Project(folder / "bench.yaml", given_plugins=(str(folder / "given.py"),))
    assert reads == []
    for _ in range(2):
        assert "mask/given" in project.catalog.implementations
        assert project.added == ("mask/given",)
        assert project.plan()
        assert project.config.default == ("one",)
    assert reads == ["bench.yaml", "own.py", "given.py"]
    joined = project.plan().suites[0].implementations
    assert set(joined) == {"mask/scatter", "mask/given"}, "a given plugin joins the suites of its family"


def test_plugin_also_in_bench_yaml_adds_nothing(folder):
    project = Project(folder / "bench.yaml", given_plugins=(str(folder / "own.py"),))
    assert project.added == ()
    assert "mask/own" in project.catalog.implementations


def test_results_are_next_to_bench_yaml_by_default(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert Project().results == Project(folder / "bench.yaml").results == folder / "results"
    assert Project(results_path=folder / "elsewhere").results == folder / "elsewhere"


def test_suites_that_flags_make_equal_are_one_unless_they_are_named(folder):
    with (folder / "bench.yaml").open("a") as file:
        file.write("  three: {family: topk, seq: 512, rows: 4, topk: 8, impls: [exact]}\n")
    project, same = Project(folder / "bench.yaml"), Overrides(seqs=("512",))
    assert [suite.name for suite in project.plan(ids=["topk"]).suites] == ["two", "three"]
    assert [suite.name for suite in project.plan(overrides=same, ids=["topk"]).suites] == ["two"]
    assert [suite.name for suite in project.plan(["two", "three"], same).suites] == ["two", "three"]


def test_ids_narrow_a_plan(folder):
    project = Project(folder / "bench.yaml")
    assert project.plan().suites[0].implementations == ("mask/scatter",)
    assert [suite.family for suite in project.plan(ids=["topk/exact"]).suites] == ["topk"]
    assert [suite.name for suite in project.plan(ids=["two"]).suites] == ["two"], "an id may be a suite"
    assert project.checks_in(["topk/exact"]) is None
    check = next(name for name in project.catalog.checks() if name.startswith("mask/"))
    assert project.checks_in([check, "topk"]) == {check}
    with pytest.raises(
        UsageError, match='"topkk" is not a suite, family, implementation or check; nearest: "topk"'
    ):
        project.plan(ids=["topkk"])
