import json
import os
import select
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from harness.catalog import child_process, discovery
from harness.catalog.discovery import plugin
from harness.catalog.loading import load
from harness.core.errors import UsageError

GOLDEN = Path(__file__).parents[1] / "golden/plugin_refusals.jsonl"  # a plugin's text, and what is said
REFUSALS = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
HEAD = """
from seqsweep import implementation
from impls.topk.family import TopkWorkload
"""
MINE = '''
@implementation(framework="numpy", semantics="exact")
def mine(w: TopkWorkload, *, keep: int = 2):
    """The first sentence
    of two lines.

    And more.
    """
'''
IMPORTS = """
from dataclasses import dataclass
from seqsweep import Array, Family, Semantics, axis, exact, implementation
"""
POINTS = """
@dataclass(frozen=True)
class Points:
    seq: int = axis()
"""
TABLE = """
FAMILY = Family(
    name="points",
    question="?",
    workload=Points,
    shapes=lambda w: {"x": Array((w.seq,), "f64")},
    inputs=lambda w, rng: {"x": rng.standard_normal(w.seq)},
    semantics={"double": Semantics("double", lambda w, rows: lambda x: 2 * x, exact())},
)
"""
FAMILY = IMPORTS + POINTS + TABLE
USES = """
@implementation(framework="numpy", semantics="double")
def adds(w: Points):
    return lambda x: x + x
"""


@pytest.fixture
def read(tmp_path):
    def read(text, seconds=60.0, name="my_impls.py"):
        path = tmp_path / name
        path.write_text(text)
        return plugin(str(path), seconds)

    return read


def refusal(read, text, seconds=60.0):
    with pytest.raises(UsageError) as caught:
        read(text, seconds)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("plugin ")
    return str(caught.value)


def test_a_file_of_ten_lines_is_read(read, tmp_path):
    catalog = read(HEAD + MINE)
    info = catalog.implementations["topk/mine"]
    assert info.sentence == "The first sentence of two lines."
    assert info.module == info.file == str(tmp_path / "my_impls.py")
    assert (info.line, info.hash[:7], [option.name for option in info.options]) == (5, "closure", ["keep"])
    assert catalog.families["topk"] == discovery.builtin().families["topk"]


@pytest.mark.jax
def test_one_that_imports_jax_leaves_this_process_without_it(read, tmp_path):
    assert "topk/mine" in read("import jax\n" + HEAD + MINE).implementations
    code = (
        "import sys; from harness.catalog.discovery import plugin; plugin(sys.argv[1]);"
        "print([name for name in ('jax', 'torch', 'numpy') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "my_impls.py")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_plugin_may_define_a_family(read, tmp_path):
    catalog = read(FAMILY + USES)
    info = catalog.families["points"]
    assert list(catalog.implementations) == ["points/adds"]
    assert ([f.name for f in info.fields], info.semantics, info.reference_framework) == (
        ["seq"],
        ("double",),
        "numpy",
    )
    assert info.module == str(tmp_path / "my_impls.py")


def test_two_families_of_one_name_are_refused(read):
    again = TABLE.replace("FAMILY =", "AGAIN =").replace("2 * x", "3 * x")
    assert 'two families have the name "points"; rename one' in refusal(read, FAMILY + again + USES)


def test_the_hash_covers_family_and_workload(read, tmp_path):
    def read_again():
        return read(IMPORTS + "from workload import Points" + USES).implementations["points/adds"].hash

    (tmp_path / "workload.py").write_text(IMPORTS + POINTS)
    (tmp_path / "family.py").write_text(IMPORTS + "from workload import Points" + TABLE)
    first = read_again()
    for name in ("workload.py", "family.py"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text + "\nx = 1\n")
        assert read_again() != first
        (tmp_path / name).write_text(text)
    assert read_again() == first


TWO = """
@implementation(framework="numpy", semantics="double")
def first(w: Points):
    'Its own sentence.'
    return lambda x: x + x
"""


@pytest.mark.parametrize(
    ("builders", "sentences"), [(USES, ["The file."]), (USES + TWO, ["", "Its own sentence."])]
)
def test_the_files_docstring_describes_its_only_builder(read, builders, sentences):
    described = read(f"'The file.'\n{FAMILY}{builders}")
    assert [info.sentence for info in described.implementations.values()] == sentences


def test_a_workload_without_a_family_is_one_sentence(read, tmp_path):
    (tmp_path / "workload.py").write_text(IMPORTS + POINTS)
    text = IMPORTS + "from workload import Points" + USES
    assert "no family has the workload Points; declare a Family in the module of that class" in refusal(
        read, text
    )
    (tmp_path / "family.py").write_text("FAMILY = None\n")
    assert "no family has the workload Points" in refusal(read, text)


def test_one_that_registers_nothing_is_an_error_of_the_catalog(read, tmp_path):
    assert not read("x = 1\n").implementations
    with pytest.raises(UsageError, match="registers nothing; decorate a builder"):
        discovery.catalog([str(tmp_path / "my_impls.py")])


def test_a_plugin_may_open_a_large_file_on_import(read):
    cache = "import tempfile\nwith tempfile.TemporaryFile() as cache:\n    cache.truncate(1 << 30)\n"
    assert "topk/mine" in read(HEAD + MINE + cache).implementations


def test_a_plugin_that_hangs_is_refused(read):
    assert "took more than 0.5 s; move code from the module's top" in refusal(read, "while True: pass", 0.5)


def test_a_missing_plugin_is_refused(tmp_path):
    with pytest.raises(UsageError, match="does not exist; name a Python file"):
        plugin(str(tmp_path / "missing.py"))
    for missing in ("missing_module", "missing_module.below", "json.missing_module"):
        with pytest.raises(UsageError) as caught:
            plugin(missing)
        name = missing.removesuffix(".below")
        says = f"plugin {missing} cannot be read: No module named '{name}'; a file needs the suffix .py"
        assert str(caught.value) == says


@pytest.mark.parametrize(
    "source", ["/etc/passwd", "../../etc/passwd", "..", "", "./mine", "/here/numpy", "a b"]
)
def test_a_source_that_is_not_a_file_or_module_is_refused(source):
    with pytest.raises(UsageError, match=r"is not a \.py file or a module name"):
        plugin(source)


def test_processes_that_it_starts_do_not_delay_the_answer_and_are_killed(read, tmp_path):
    pid = tmp_path / "pid"
    text = f"""
        import subprocess, threading
        threading.Thread(target=threading.Event().wait).start()
        child = subprocess.Popen(["sleep", "1000"])
        open({str(pid)!r}, "w").write(str(child.pid))
    """
    assert "topk/mine" in read(textwrap.dedent(text) + HEAD + MINE, 30.0).implementations
    with suppress(ProcessLookupError):
        killed = os.pidfd_open(int(pid.read_text()))
        assert select.select([killed], [], [], 60.0)[0], "it still lives"
        os.close(killed)


def test_a_plugin_that_fails_is_not_half_loaded(tmp_path):
    path = tmp_path / "fails.py"
    path.write_text("raise ValueError('first')\n")
    for _ in range(2):
        with pytest.raises(ValueError, match="first"):
            load(str(path))
    assert not [name for name in sys.modules if "fails" in name]


def test_a_file_may_have_siblings(read, tmp_path):
    (tmp_path / "my_sibling.py").write_text("NAME = 'from_sibling'\n")
    text = "from my_sibling import NAME\n" + HEAD + MINE.replace("(fram", "(name=NAME, fram")
    assert list(read(text).implementations) == ["topk/from_sibling"]


def test_an_installed_package_may_offer_implementations(tmp_path, monkeypatch):
    folder = tmp_path / "my_package-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: my-package\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[{discovery.ENTRY_POINTS}]\nmine = my_package\n")
    (tmp_path / "my_package.py").write_text(HEAD + MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert discovery.installed() == ["my_package"]
    assert discovery.catalog().implementations["topk/mine"].module == "my_package"


def test_foreign_metadata_of_a_field_is_ignored(read):
    foreign = "axis()\n    rows: int = __import__('dataclasses').field(default=2, metadata={'theirs': 1})"
    (family,) = read(FAMILY.replace("axis()", foreign) + USES).families.values()
    assert [(f.name, f.default, f.minimum) for f in family.fields] == [("seq", None, 1), ("rows", 2, 1)]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case["says"].rpartition("my_impls.py")[2][:60])
def test_an_invalid_plugin_is_one_sentence_with_a_remedy(read, tmp_path, case):
    path = tmp_path / "my_impls.py"
    if case.get("in_process", True):
        path.write_text(case["text"])
        with pytest.raises(Exception) as caught:
            discovery.describe_module(load(str(path)), str(path))
        says = child_process.sentence(caught.value)
    else:
        says = refusal(read, case["text"])
    assert case["says"] in says.replace(str(tmp_path), "FOLDER")
