"""Plugins inside packages: named by file or by module, with relative imports, and loaded alike by workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.catalog import loading
from harness.catalog.discovery import catalog, plugin
from harness.catalog.source_hash import closure
from harness.core.errors import UsageError
from harness.core.paths import PROJECT

KERNEL = "def largest(scores, count):\n    return scores.argsort(-1)[..., -count:]\n"
MINE = '''
from seqsweep import implementation
from impls.topk.family import TopkWorkload
{}


@implementation(framework="numpy", semantics="exact")
def {}(w: TopkWorkload):
    """Sorts with the kernel beside it."""
    import numpy as np

    def select(scores):
        order = largest(scores, w.topk)
        return np.take_along_axis(scores, order, -1), order

    return select
'''
FILES = {
    "own_kernels/__init__.py": "",
    "own_kernels/kern.py": KERNEL,
    "own_kernels/mine.py": MINE.format("from .kern import largest", "mine"),
    "own_kernels/sorts/__init__.py": "from ..kern import largest",
    "own_kernels/sorts/nested.py": MINE.format("from . import largest", "nested"),
    "own_kernels/absolute.py": MINE.format("from own_kernels.kern import largest", "absolute"),
    "own_kernels/two-words.py": MINE.format("from own_kernels.kern import largest", "two_words"),
    "kern.py": KERNEL,
    "alone.py": MINE.format("from kern import largest", "alone"),
}
BENCH = "suites:\n  topk: {family: topk, seq: [512], rows: 4, topk: 16, baseline: exact, impls: [exact]}\n"
SOURCES = {
    "own_kernels/mine.py": "mine",
    "own_kernels.mine": "mine",
    "own_kernels/sorts/nested.py": "nested",
    "own_kernels.sorts.nested": "nested",
    "own_kernels/absolute.py": "absolute",
    "own_kernels/two-words.py": "two_words",
    "alone.py": "alone",
    "alone": "alone",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in {**FILES, "bench.yaml": BENCH}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def seqsweep(folder, *words, **environment):
    done = subprocess.run(
        [sys.executable, str(PROJECT / "cli.py"), *words],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("source", "name"), SOURCES.items())
def test_a_plugin_is_described_by_file_and_by_module(folder, source, name):
    info = plugin(source).implementations[f"topk/{name}"]
    assert (info.sentence, info.module) == ("Sorts with the kernel beside it.", source)


def test_a_file_and_its_module_are_one_plugin(folder):
    both = catalog(["own_kernels/mine.py", "own_kernels.mine"])
    assert both.implementations["topk/mine"].file == str(folder / "own_kernels/mine.py")


@pytest.mark.parametrize("source", ["own_kernels.sorts.nested", "alone.py"])
def test_workers_load_it_as_the_command_does(folder, source):
    code, said = seqsweep(folder, "check", f"topk/{SOURCES[source]}", "--plugin", source)
    assert code == 0, said


def test_a_package_that_is_installed_is_named_by_its_module(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "bench.yaml").write_text(BENCH)
    words = "check", "topk/mine", "--plugin", "own_kernels.mine"
    code, said = seqsweep(elsewhere, *words)
    assert (code, "No module named 'own_kernels'" in said) == (2, True), said
    code, said = seqsweep(elsewhere, *words, PYTHONPATH=str(folder))
    assert code == 0, said


@pytest.mark.full
@pytest.mark.parametrize("source", ["own_kernels/mine.py", "own_kernels.mine"])
def test_each_side_of_a_gate_loads_its_own_package(folder, source):
    for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm base"):
        subprocess.run(["git", *words.split()], cwd=folder, check=True)
    kernel = folder / "own_kernels/kern.py"
    kernel.write_text(KERNEL.replace("-count:", "-count - 1 : -1"))
    code, said = seqsweep(
        *(folder, "gate", "--plugin", source, "--impl", "mine", "--against", "git:HEAD", "--budget", "20s")
    )
    assert (code, "incorrect: 1 incorrect" in said) == (4, True), said


def test_the_files_of_its_packages_are_part_of_its_hash(folder):
    files = {file.relative_to(folder) for file in closure(folder / "own_kernels/sorts/nested.py")
             if file.is_relative_to(folder)}  # fmt: skip
    names = "own_kernels/__init__.py", "own_kernels/kern.py", "own_kernels/sorts/__init__.py"
    assert files == {Path(name) for name in (*names, "own_kernels/sorts/nested.py")}


def test_another_package_with_this_name_is_reported(folder):
    (folder / "impls").mkdir()
    (folder / "impls/__init__.py").touch()
    (folder / "impls/mine.py").write_text(MINE.format("from .kern import largest", "mine"))
    with pytest.raises(UsageError, match=r"is the module impls\.mine, but this process has another impls, /"):
        loading.load(str(folder / "impls/mine.py"))


def test_a_package_that_does_not_load_leaves_nothing_behind(folder):
    (folder / "own_kernels/__init__.py").write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        loading.load(str(folder / "own_kernels/mine.py"))
    assert not [name for name in sys.modules if name.startswith("own_kernels")]
