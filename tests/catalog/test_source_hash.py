import shutil
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from harness.catalog import source_hash

IMPLS = Path(__file__).resolve().parents[2] / "impls"


@pytest.fixture
def plugin(tmp_path):
    files = {
        "mine.py": "import math, seqsweep\nimport helper\ndef build():\n    from parts.inner import thing\n",
        "helper.py": "import numpy\n",
        "parts/__init__.py": "",
        "parts/inner.py": "from . import leaf\nfrom .other import name\n",
        "parts/leaf.py": "",
        "parts/other.py": "from ..helper import x\n",
        "stranger.py": "",
        "broken.py": "def (",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def names(path, root):
    return {str(found.relative_to(root)) for found in source_hash.closure(path)}


def test_what_a_plugin_imports_belongs_to_it(plugin):
    parts = {f"parts/{name}.py" for name in ("__init__", "inner", "leaf", "other")}
    assert names(plugin / "mine.py", plugin) == {"mine.py", "helper.py"} | parts


def hash_of(path):
    source_hash.content.cache_clear()
    source_hash._imported_files.cache_clear()
    return source_hash.source_hash(path, path)


def test_a_changed_helper_changes_the_hash(plugin):
    before = hash_of(plugin / "mine.py")
    (plugin / "stranger.py").write_text("x = 1")
    assert hash_of(plugin / "mine.py") == before
    (plugin / "parts/leaf.py").write_text("x = 1")
    assert hash_of(plugin / "mine.py") != before
    assert source_hash.same_hash_kind(before, hash_of(plugin / "mine.py"))


def test_a_table_with_a_modules_name_belongs_to_it(plugin):
    (plugin / "helper.toml").write_text("[tiles]")
    (plugin / "stranger.toml").write_text("[tiles]")
    assert {name for name in names(plugin / "mine.py", plugin) if name.endswith("toml")} == {"helper.toml"}


def test_hashes_of_earlier_versions_are_not_comparable(plugin):
    assert not source_hash.same_hash_kind("sha256:12ab", hash_of(plugin / "mine.py"))


def test_an_import_in_any_block_counts(plugin):
    blocks = "try:\n  pass\nexcept ImportError:\n  import helper\nmatch 1:\n  case _:\n    import stranger\n"
    (plugin / "mine.py").write_text(f"{blocks}while False:\n  pass\nelse:\n  import broken\n")
    assert names(plugin / "mine.py", plugin) == {"mine.py", "helper.py", "stranger.py", "broken.py"}


def test_installed_packages_have_versions_instead(plugin):
    (plugin / "mine.py").write_text("import numpy, msgspec\nfrom rich.console import Console\n")
    assert names(plugin / "mine.py", plugin) == {"mine.py"}


def test_the_hash_of_project_code_includes_its_family_but_not_the_harness():
    variant, family = (names(IMPLS / f"mask/{name}.py", IMPLS) for name in ("masked_again", "family"))
    assert {"mask/masked_again.py", "mask/workload.py", "mask/reference.py", "mask/scatter.py"} <= variant
    assert {"mask/family.py", "mask/workload.py", "mask/reference.py", "mask/_checks.py"} <= family
    assert all(name.startswith(("mask/", "__init__")) for name in variant | family)


def test_a_copy_of_a_tree_has_the_same_hash(tmp_path):
    """Also if it has its own harness, because this harness runs both trees."""
    shutil.copytree(IMPLS, tmp_path / "impls", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness/__init__.py").write_text("OTHER = True\n")
    pairs = [("mask/masked_again", "mask/family"), ("attention/mslk/nsa_mslk", "attention/family")]
    for variant, family in pairs:
        paths = [(root / f"{variant}.py", root / f"{family}.py") for root in (IMPLS, tmp_path / "impls")]
        here, there = (source_hash.source_hash(*both) for both in paths)
        assert here == there
    changed = tmp_path / "impls/mask/reference.py"
    changed.write_text(changed.read_text() + "x = 1\n")
    assert hash_of(tmp_path / "impls/mask/masked_again.py") != hash_of(IMPLS / "mask/masked_again.py")


def test_a_compiled_module_is_part_of_its_importers_hash(plugin):
    (plugin / "mine.py").write_text("import fast\n")
    compiled = plugin / f"fast{EXTENSION_SUFFIXES[0]}"
    compiled.write_bytes(b"\x7fELF one")
    before = hash_of(plugin / "mine.py")
    compiled.write_bytes(b"\x7fELF two")
    assert hash_of(plugin / "mine.py") != before


def test_a_package_that_is_imported_through_a_link_is_followed(plugin, tmp_path_factory, monkeypatch):
    sources = tmp_path_factory.mktemp("src")
    (sources / "linked_kernels").mkdir()
    (sources / "linked_kernels/__init__.py").write_text("from . import deep\n")
    (sources / "linked_kernels/deep.py").write_text("")
    monkeypatch.syspath_prepend(sources)
    (plugin / "mine.py").write_text("import linked_kernels\n")
    source_hash._imported_files.cache_clear()
    files = source_hash.closure(plugin / "mine.py")
    assert sources / "linked_kernels/deep.py" in files
