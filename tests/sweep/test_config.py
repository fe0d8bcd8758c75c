"""`machines:` of bench.yaml: which nodes of which cluster, and errors with their line."""

from pathlib import Path

import pytest

from harness.core.errors import UsageError
from harness.sweep import config as config_module
from harness.sweep.config import ACCELERATOR, MachinePool, above, configuration, load
from harness.sweep.settings import Settings

WHOLE = """\
default: mask
defaults: {budget: 2s, threads: 1}
plugins: [own/mine.py, some.module]
suites:
  mask:
    family: mask
    seq: [4Ki, 128Ki]
    mode: [bwd, fwd]
    device: cpu
    baseline: broadcast
    impls: [broadcast, {two_stage: {buckets: [1, 2]}}]
    timeout: 5s
    delta: 5%
    layers: 58
    accept: {mask/scatter@*: meant}
  other: {family: topk}
"""


def test_a_whole_file(bench, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text("")
    config = bench(WHOLE)
    assert config.path == tmp_path / "bench.yaml"
    assert config.home == tmp_path
    assert config.default == ("mask",)
    assert config.settings == Settings(budget_s=2.0, threads=1)
    assert config.given == {"budget", "threads"}
    assert config.plugins == (str(tmp_path / "own" / "mine.py"), "some.module")

    suite = config.suites["mask"]
    assert (suite.where, suite.family.text) == ("bench.yaml:5", "mask")
    assert (suite.modes, suite.devices) == (("fwd", "bwd"), ("cpu",))
    assert list(suite.axes) == ["seq"]
    assert suite.axes["seq"].where == "bench.yaml:7"
    assert {name: raw.text for name, raw in suite.overrides.items()} == {"timeout": "5s"}
    assert (suite.gate.delta, suite.layers) == (0.05, 58)
    assert [one.pattern for one in suite.gate.accept] == ["mask/scatter@*"]
    assert config.suites["other"].impls is None


def test_without_default_all_suites_run(bench):
    assert bench("suites:\n  a: {family: x}\n  b: {family: y}\n").default == ("a", "b")


def test_defaults_alone_are_enough_of_a_file(bench):
    config = bench("defaults: {budget: 1s}\n")
    assert (config.default, dict(config.suites)) == ((), {})
    assert config.given == {"budget"}
    assert bench("suites: {}\n").given == frozenset()


TYPOS = [
    ("defualt: mask", 1, 'unknown key "defualt" at the top level; nearest: "default"'),
    ("default: [mask, maks]", 1, 'unknown default "maks"; nearest: "mask"'),
    ("default: [mask, mask]", 1, "default lists mask twice"),
    ("default: []", 1, "default is an empty list"),
    ("default: {mask: 1}", 1, "default takes a value or a list of values"),
    ("defaults:\n  budgets: 2s", 2, 'unknown key "budgets" under defaults; nearest: "budget"'),
    ("defaults:\n  budget: 2s\n  memory: 3GB2", 3, 'memory: "3GB2" is not a quantity'),
    ("defaults:\n  threads: on", 2, 'threads: "on" is not a quantity'),
    ("defaults:\n  budget:", 2, "budget needs one value"),
    ("defaults:\n  budget: [1s, 2s]", 2, "budget needs one value"),
    ("defaults: 4s", 1, "defaults must be a mapping"),
    ("plugins: missing.py", 1, "plugin missing.py: no such file"),
    (
        "plugins:\n- ../../etc/passwd",
        2,
        "plugin ../../etc/passwd is neither a file whose name ends in .py nor",
    ),
    ("plugins: [[a]]", 1, "plugins takes a value or a list of values"),
    ("suite: {}", 1, 'unknown key "suite" at the top level; nearest: "suites"'),
]


SUITE_TYPOS = [
    ("famly: mask", 2, "suite mask names no family"),
    ("seq: 4Ki", 2, "suite mask names no family"),
    ("family: [mask, topk]", 3, "family needs one value"),
    ("family:", 3, "family needs one value"),
    ("family: mask\n    mode: [fwd,\n      backward]", 5, 'unknown mode "backward"; known: bwd, fwd'),
    ("family: mask\n    mode: fwd_bdw", 4, 'unknown mode "fwd_bdw"; nearest: "fwd_bwd"'),
    ("family: mask\n    mode: [fwd, fwd]", 4, "mode lists fwd twice"),
    ("family: mask\n    device: cudda", 4, 'unknown device "cudda"; nearest: "cuda"'),
    ("family: mask\n    timeout: 5 sec", 4, 'timeout: unknown unit "sec"'),
    ("family: mask\n    impls: []", 4, "impls is an empty list"),
    ("family: mask\n    seq: 1\n    family: topk", 5, 'duplicate key "family"'),
]
SHAPES = [
    ("- a\n- b\n", 1, "bench.yaml must be a mapping"),
    ("mask\n", 1, "bench.yaml must be a mapping"),
    ("suites:\n  mask:\n", 2, "suite mask must be a mapping"),
    ("suites: [mask]\n", 1, "suites must be a mapping"),
    ("suites:\n  a/b: {family: x}\n", 2, '"a/b" cannot name a suite'),
]
SLIPS = [(f"{line}\nsuites:\n  mask: {{family: mask}}\n", *rest) for line, *rest in TYPOS]
SLIPS += [(f"suites:\n  mask:\n    {lines}\n", *rest) for lines, *rest in SUITE_TYPOS]


@pytest.mark.parametrize(("text", "number", "message"), [*SHAPES, *SLIPS])
def test_slips_are_told_with_their_line(bench, text, number, message):
    with pytest.raises(UsageError) as caught:
        bench(text)
    assert str(caught.value).startswith(f"bench.yaml:{number}: {message}")


def test_the_nearest_file_upward_is_found(bench, tmp_path, monkeypatch):
    bench("suites: {a: {family: x}}\n")
    deep = tmp_path / "one" / "two"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert above(Path.cwd()) == tmp_path / "bench.yaml"
    assert configuration().home == tmp_path


def test_a_named_file_keeps_its_own_folder(bench, tmp_path, monkeypatch):
    bench("suites: {a: {family: x}}\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert configuration(Path("../bench.yaml")).home.resolve() == tmp_path


def test_without_any_file_the_packaged_one_serves_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = configuration()
    assert config.path == config_module.packaged_file()
    assert config.home == tmp_path


def test_a_wheel_carries_the_file_inside_the_package(tmp_path, monkeypatch):
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
  h200: {address: "10.0.0.1:6379", accelerator: H200, labels: {rack: b}, exclusive: false}
""")
    assert config.machines == {
        "pool": MachinePool("pool"),
        "h200": MachinePool("h200", "10.0.0.1:6379", {"rack": "b", ACCELERATOR: "H200"}, False),
    }
    assert (MachinePool("pool").address, MachinePool("pool").exclusive) == ("auto", True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{adress: auto}", 'bench.yaml:2: unknown key "adress" of machines pool; nearest: "address"'),
        ("{exclusive: maybe}", 'bench.yaml:2: exclusive "maybe": write true or false'),
        ("{noise: 5%}", "bench.yaml:2: noise was removed: "),
        ("{labels: quiet}", "bench.yaml:2: labels must be a mapping"),
        ("auto", "bench.yaml:2: machines pool must be a mapping"),
        ("{address: [a, b]}", "bench.yaml:2: address needs one value"),
    ],
)
def test_what_describes_no_pool_is_refused_with_its_line(bench, text, says):
    with pytest.raises(UsageError) as caught:
        bench(f"machines:\n  pool: {text}\n")
    assert str(caught.value).startswith(says)
