"""Wrong input is refused with one sentence (file, line, nearest name) and an exit code. Nothing runs."""

import shlex
from pathlib import Path

import pytest

from tests.goldens import GOLDEN, assert_golden
from tests.stores import store_two_runs

FILE = GOLDEN / "mistakes.txt"
COMMANDS = [line[2:] for line in FILE.read_text("utf-8").splitlines() if line.startswith("$ ")]
BENCH = """\
default: [mask]
defaults: {budget: 50ms, timeout: 60s, memory: 4GiB}
suites:
  mask: {family: mask, seq: [256, 512], rows: 4, topk: 32, baseline: broadcast, impls: [broadcast, scatter]}
  broken: {family: offsets, seq: [512], kind: causal, layout: cross, baseline: mask_quadratic}
  mla: {family: mla, seq: [16, 32], config: small, baseline: naive, impls: [naive]}
"""
SUMS = "plugins: [sums.py]\nsuites: {sums: {family: sums, seq: [64], baseline: scan, impls: [scan]}}\n"


@pytest.fixture
def folder(tmp_path):
    """A project with two stored runs, an empty mine.py, and a plugin."""
    (tmp_path / "bench.yaml").write_text(BENCH)
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "sums.py").write_text(Path(__file__).with_name("drawing_plugin.py").read_text())
    (tmp_path / "sums.yaml").write_text(SUMS)
    store_two_runs(tmp_path / "results")
    return tmp_path


def files(folder):
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path: path.read_bytes() for path in found}


def test_every_mistake_equals_the_golden_file(in_process, folder):
    """The golden file has the commands: add one as a line that begins with `$ `, and rewrite it."""
    before, told = files(folder), []
    for command in COMMANDS:
        said = in_process(*shlex.split(command), folder=folder)
        assert "Traceback" not in said.err, command
        assert said.out == "", command
        told.append(f"$ {command}\n{said.code}: {said.err}".replace(str(folder), "FOLDER"))
    assert files(folder) == before
    assert_golden("mistakes.txt", "".join(told))


def test_a_mistake_is_one_line():
    """Click's own sentences about arguments and options have a second line with the remedy."""
    said = FILE.read_text("utf-8").splitlines()
    assert len(said) == 2 * len(COMMANDS)
    assert {answer.partition(": ")[0] for answer in said[1::2]} <= {"2", "3", "5"}


@pytest.mark.parametrize(
    ("typo", "line", "says"),
    [("    family: msak", 5, "msak"), ("    basline: broadcast", 9, "basline"), ("    rows: 4Kx", 7, "4Kx")],
)
def test_a_typo_in_bench_yaml_names_its_line(in_process, project, tmp_path, typo, line, says):
    lines = (project / "bench.yaml").read_text().splitlines()
    lines[line - 1] = typo
    (tmp_path / "bench.yaml").write_text("\n".join(lines) + "\n")
    said = in_process("run", folder=tmp_path)
    assert said.code == 2
    assert f"bench.yaml:{line}:" in said.err
    assert says in said.err
    assert not (tmp_path / "results").exists()


def test_list_and_doctor(seqsweep, in_process):
    assert "mask/scatter" in {info["id"] for info in in_process("list", "--json").json["implementations"]}
    assert {finding["what"] for finding in seqsweep("doctor", "--json").json["findings"]} >= {"torch", "jax"}
