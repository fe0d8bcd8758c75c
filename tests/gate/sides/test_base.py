import shutil
import sys
from pathlib import Path

import pytest

from harness.core.case import Case
from harness.core.errors import SideError, UsageError
from harness.gate.sides.matching import counterpart
from tests.gate.sides.conftest import plugin, variant

ADDS = Case.of("points/adds", {}, {"seq": 8})


def refusal(enter_base, *arguments, kind=UsageError, **more):
    with pytest.raises(kind) as caught, enter_base(*arguments, **more):
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_base_is_the_committed_code_with_this_harness(project, candidate, enter_base, monkeypatch):
    """Also if the base has a harness, and if the command runs in the project's folder."""
    project.commit({"harness/__init__.py": "raise Exception('the harness of the base')"})
    project.write({"impls/points/adds.py": variant("adds", "The candidate's."), "bench.yaml": "suites: {}"})
    monkeypatch.chdir(project.folder)
    side = candidate()
    with enter_base("git:HEAD", side) as base:
        found, own = (one.catalog.implementations["points/adds"] for one in (base.side, side))
        assert (found.sentence, own.sentence) == ("The base's.", "The candidate's.")
        assert found.hash != own.hash
        tree = base.side.trees[str(project.folder)]
        assert found.file == f"{tree}/impls/points/adds.py"
        assert base.side.within(found) == tree
        assert base.side.catalog.families["points"].file == f"{tree}/impls/points/family.py"
        assert (base.side.name, base.side.interpreter, base.config) == ("base", sys.executable, None)
    assert not Path(tree).exists()
    project("add", "bench.yaml")
    project("commit", "--message", "x")
    project.origin_main()
    head = project("rev-parse", "--short=7", "HEAD")
    project.write({"bench.yaml": "suites: {new: {family: points}}"})
    with enter_base(None, side) as base:
        assert base.config.read_text().strip() == "suites: {}"
        assert base.side.description == f"git:{head} (HEAD, without uncommitted changes)"


def test_a_base_without_impls_has_no_cases(project, candidate, enter_base):
    project("switch", "--orphan", "empty")
    empty = project.commit(a="1")
    project("switch", "main")
    with enter_base(f"git:{empty}", candidate()) as base:
        assert not base.side.catalog.implementations


def test_a_plugin_in_another_repository_has_a_separate_base(project, repository, candidate, enter_base):
    theirs = repository("theirs")
    theirs.commit(mine=plugin("mine", "The base's."))
    theirs.commit(mine=plugin("mine", "On main."))
    theirs.origin_main()
    theirs("switch", "--create", "feature")
    theirs.commit(mine=plugin("mine", "The candidate's."))
    source = str(theirs.folder / "mine.py")
    side = candidate(source)
    with enter_base(None, side, source, wanted=["points/mine"]) as base:
        found = base.side.catalog.implementations
        assert found["points/mine"].sentence == "On main."
        assert list(base.side.trees) == [str(theirs.folder)]
        assert base.side.within(found["points/mine"]) == base.side.trees[str(theirs.folder)]
        assert found["points/adds"].file == str(project.folder / "impls/points/adds.py")
        assert "merge base with origin/main" in base.side.description
    with enter_base("git:HEAD~1", side, source, wanted=["points/mine"]) as base:
        assert base.side.catalog.implementations["points/mine"].sentence == "On main."
    with enter_base("git:HEAD", side, source) as base:
        assert set(base.side.trees) == {str(project.folder), str(theirs.folder)}
        assert base.side.description.startswith("git: theirs ")
        assert ", work " in base.side.description
    message = refusal(enter_base, "git:HEAD~1", side, source)  # the project has only one commit
    assert f'{project.folder} has no commit "HEAD~1"' in message


def test_a_plugin_that_is_not_committed_is_missing(project, candidate, enter_base):
    project.write(mine=plugin("mine"))
    source = str(project.folder / "mine.py")
    side = candidate(source)
    with enter_base(None, side, source) as base:
        assert list(base.side.catalog.implementations) == ["points/adds"]
        assert counterpart(ADDS, side, base.side) == ADDS


def test_a_plugin_in_no_repository_is_new(tmp_path, candidate, enter_base):
    source = tmp_path / "mine.py"
    source.write_text(plugin("mine"))
    side = candidate(str(source))
    case = Case.of("points/mine", {}, {"seq": 8})
    with enter_base("git:HEAD", side, str(source)) as base:
        assert counterpart(case, side, base.side).startswith(f"{source} is in no git repository")
    message = refusal(enter_base, None, side, str(source), wanted=["points/mine"])
    assert "impl:NAME or py:INTERPRETER" in message
    assert str(source) in refusal(enter_base, "git:HEAD", side, str(source), wanted=["points/mine"])


def test_a_plugin_by_name_loads_from_the_worktree_with_its_package(
    project, repository, candidate, enter_base, monkeypatch
):
    theirs = repository("theirs")
    text = "from neighbour import NAME\n" + plugin("mine").replace("(framework", "(name=NAME, framework")
    theirs.commit({"pkg/__init__.py": "", "pkg/deep.py": text, "neighbour.py": "NAME = 'old'"})
    theirs.write({"neighbour.py": "NAME = 'new'", "pkg/deep.py": text, "uncommitted.py": plugin("later")})
    monkeypatch.setenv("PYTHONPATH", str(theirs.folder))
    side = candidate("pkg.deep", "uncommitted")
    assert {"points/new", "points/later"} < set(side.catalog.implementations)
    with enter_base("git:HEAD", side, "pkg.deep", "uncommitted") as base:
        assert set(base.side.catalog.implementations) == {"points/adds", "points/old"}


def test_code_in_an_ignored_environment_is_the_same_on_both_sides(project, tmp_path, candidate, enter_base):
    """A wheel in the project's venv, and a plugin in the project."""
    impls = project.folder / "impls"
    project.write({".gitignore": "venv/"})
    (project.folder / "venv").mkdir()
    (project.folder / "impls").rename(project.folder / "venv" / "impls")
    impls.symlink_to(project.folder / "venv" / "impls")
    project.write({"mine.py": plugin("mine", "The base's.")})
    project("rm", "-r", "--cached", "impls")
    project("add", ".gitignore", "mine.py")
    project("commit", "--message", "x")
    project.write({"mine.py": plugin("mine", "The candidate's.")})
    source = str(project.folder / "mine.py")
    with enter_base("git:HEAD", candidate(source), source) as base:
        found = base.side.catalog.implementations
        assert found["points/mine"].sentence == "The base's."
        assert found["points/adds"].file == str(project.folder / "venv/impls/points/adds.py")


def test_a_package_that_shadows_the_worktree_is_named(project, tmp_path, candidate, enter_base, monkeypatch):
    side = candidate()
    (tmp_path / "site").mkdir()
    code = f"import sys; sys.path.insert(0, {str(project.folder)!r})"  # some editable installs do so
    (tmp_path / "site" / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    message = refusal(enter_base, "git:HEAD", side, kind=SideError)
    assert f"loads from {project.folder}/impls/points/family.py instead of its worktree" in message
    assert SideError.exit_code == 4


def test_a_base_that_does_not_load(project, candidate, enter_base):
    project.commit({"impls/points/adds.py": "import nonexistent"})
    project.commit({"impls/points/adds.py": variant("adds")})
    message = refusal(enter_base, "git:HEAD~1", candidate(), kind=SideError)
    assert "(HEAD~1), does not load: " in message
    assert "adds.py:1: ModuleNotFoundError" in message
    assert "does not load" in refusal(enter_base, "py:/bin/true", candidate(), kind=SideError)


def test_errors_of_against_are_one_sentence(project, candidate, enter_base):
    side = candidate()
    for against, says in {
        "gti:HEAD": "write git:REF, impl:NAME or py:INTERPRETER",
        "HEAD~1": "write git:REF",
        "git:": "write git:REF",
        "": "write git:REF",
        "git:mian": 'has no commit "mian"',
        "impl:ads": 'no implementation "ads" of family points; nearest: "adds"',
        "impl:other/adds": 'no implementation "other/adds" of family points; nearest: "adds"',
        "impl:adds[keep=2]": 'unknown option "keep" of points/adds',
        "impl:adds[": "is not an implementation",
        "py:/nowhere/python": "interpreter not found",
        "py:bench.yaml": "interpreter not found",
    }.items():
        assert says in refusal(enter_base, against, side), against


def test_two_interpreters_read_the_same_files(project, tmp_path, candidate, enter_base):
    environment = tmp_path / "environment"
    (environment / "bin").mkdir(parents=True)
    python = environment / "bin" / "python"
    python.write_text(f'#!/bin/sh\nSEQSWEEP_MARK=1 exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    text = variant("named").replace('"double")', '"double", name=os.environ.get("SEQSWEEP_MARK"))')
    project.write({"impls/points/named.py": "import os\n" + text})
    side = candidate()
    for written in (environment, python):
        with enter_base(f"py:{written}", side) as base:
            assert (base.side.interpreter, base.side.description) == (str(python), f"py:{written}")
            found = base.side.catalog.implementations
            assert set(found) == {"points/adds", "points/1"}
            assert found["points/adds"] == side.catalog.implementations["points/adds"]
            assert base.side.within(found["points/adds"]) == str(project.folder)
            assert counterpart(ADDS, side, base.side) == ADDS


def test_an_interpreter_with_another_installation_first(project, tmp_path, candidate, enter_base):
    side = candidate()
    other = tmp_path / "installed"
    shutil.copytree(project.folder / "impls", other / "impls")
    (other / "sitecustomize.py").write_text(f"import sys; sys.path.insert(0, {str(other)!r})")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{other}" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    message = refusal(enter_base, f"py:{python}", side, kind=SideError)
    assert f"loads from {other}/impls/points/adds.py" in message
