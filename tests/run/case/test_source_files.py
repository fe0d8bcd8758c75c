"""A source that is edited while a run goes on: its records would name what it was."""

from dataclasses import replace

import pytest

from harness.catalog.source_hash import source_hash
from harness.run.case.source_files import SourceFiles
from tests.run.fakes import FakeExecutor
from tests.run.plans import catalog, context, group, measure, reason


@pytest.fixture
def project(tmp_path):
    """The files of a catalog: `scatter`, which imports a helper, `broadcast`, and their family."""
    folder = tmp_path / "sources"
    folder.mkdir()
    texts = {"scatter": "from _helper import two", "broadcast": "", "family": "", "_helper": "two = 2"}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    known = catalog()
    infos = {
        key: replace(info, file=str(folder / f"{info.name}.py"))
        for key, info in known.implementations.items()
        if info.name in texts
    }
    family = replace(known.families["mask"], file=str(folder / "family.py"))
    return folder, replace(known, families={"mask": family}, implementations=infos)


def test_a_file_counts_as_changed_by_its_content(project):
    folder, known = project
    sources = SourceFiles(known, known.implementations)
    assert sources.changed("mask/scatter") is None
    (folder / "_helper.py").write_text("two = 2")
    assert sources.changed("mask/scatter") is None
    (folder / "_helper.py").write_text("two = 3")
    assert f"{folder / '_helper.py'} has changed" in sources.changed("mask/scatter")
    assert sources.changed("mask/broadcast") is None
    assert sources.changed("mask/unknown") is None
    (folder / "family.py").unlink()
    assert f"{folder / 'family.py'} has changed" in sources.changed("mask/broadcast")


def test_a_file_that_was_edited_after_its_hash_was_taken_has_changed(project):
    folder, known = project
    source_hash(folder / "scatter.py", folder / "family.py")
    (folder / "_helper.py").write_text("two = 3")  # while another run holds the machine, say
    assert SourceFiles(known, known.implementations).changed("mask/scatter")


def test_a_case_whose_source_was_edited_is_not_measured(project, tmp_path):
    folder, known = project
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    shared = context(FakeExecutor(), scratch)
    shared.sources = SourceFiles(known, known.implementations)
    (folder / "_helper.py").write_text("two = 3")
    found = measure(shared.executor, scratch, group(), shared=shared)
    assert (found["scatter"].status, found["scatter"].timing) == ("skipped", None)
    assert reason(found["scatter"]) == (
        f"{folder / '_helper.py'} has changed since the run started, "
        "so its record would name the old source; "
        "run it again"
    )
    assert found["broadcast"].status == "ok"
