"""`machines:` of bench.yaml: clusters, labels of nodes, and errors with their line."""

from pathlib import Path

import pytest

from harness.core.errors import UsageError
from harness.sweep import config as config_module
from harness.sweep.config import ACCELERATOR, MachinePool, above, configuration, load


def test_without_default_all_suites_run(bench):
    assert bench("suites:\n  a: {family: x}\n  b: {family: y}\n").default == ("a", "b")


def test_file_with_only_defaults_is_valid(bench):
    config = bench("defaults: {budget: 1s}\n")
    assert (config.default, dict(config.suites)) == ((), {})
    assert config.given == {"budget"}
    assert bench("suites: {}\n").given == frozenset()


def test_the_nearest_file_upward_is_found(bench, tmp_path, monkeypatch):
    bench("suites: {a: {family: x}}\n")
    deep = tmp_path / "one" / "two"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert above(Path.cwd()) == tmp_path / "bench.yaml"
    assert configuration().home == tmp_path


def test_named_file_uses_its_folder(bench, tmp_path, monkeypatch):
    bench("suites: {a: {family: x}}\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert configuration(Path("../bench.yaml")).home.resolve() == tmp_path


def test_packaged_file_uses_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = configuration()
    assert config.path == config_module.packaged_file()
    assert config.home == tmp_path


def test_wheel_has_the_file_in_the_package(tmp_path, monkeypatch):
    package = tmp_path / "site" / "harness"
    (package / "sweep").mkdir(parents=True)
    monkeypatch.setattr(config_module, "PACKAGE", package)
    with pytest.raises(UsageError, match="--config"):
        config_module.packaged_file()
    (package / "bench.yaml").write_text("suites: {}\n")
    assert config_module.packaged_file() == package / "bench.yaml"


def test_errors_name_the_file_as_it_can_be_opened_from_here(bench, tmp_path, monkeypatch):
    with pytest.raises(UsageError):
        bench("suites: 1\n")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    with pytest.raises(UsageError, match=r"^\.\./bench\.yaml:1: "):
        load(tmp_path / "bench.yaml")


def test_a_pool_is_a_cluster_and_labels(bench):
    config = bench("""\
machines:
  pool: {}
  h200: {address: "10.0.0.1:6379", accelerator: H200, labels: {rack: b}}
""")
    assert config.machines == {
        "pool": MachinePool("pool"),
        "h200": MachinePool("h200", "10.0.0.1:6379", {"rack": "b", ACCELERATOR: "H200"}),
    }
    assert MachinePool("pool").address == "auto"
