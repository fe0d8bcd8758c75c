"""The scripts of docs/machines: the job array is run, the others name commands and flags that exist."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
import yaml

from harness.collection.collection import collect
from harness.commands.app import app
from harness.store.find import all_runs

PAGES = Path(__file__).resolve().parents[2] / "docs/machines"
COMMANDS = typer.main.get_command(app).commands
BENCH = """\
default: [mask]
defaults: {budget: 20ms}
suites:
  mask: {family: mask, seq: [256, 512, 1Ki], rows: 4, topk: 32, impls: [broadcast, scatter]}
"""


@pytest.mark.full
def test_a_job_array_measures_each_case_once(tmp_path):
    (tmp_path / "bench.yaml").write_text(BENCH)
    program = tmp_path / "bin/seqsweep"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {PAGES.parents[1]}/cli.py "$@"\n')
    program.chmod(0o755)
    for task in "12":
        environment = {
            **os.environ,
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "TMPDIR": str(tmp_path),
            "SLURM_ARRAY_TASK_ID": task,
            "SLURM_ARRAY_TASK_COUNT": "2",
        }
        subprocess.run([PAGES / "slurm.sh", "mask"], cwd=tmp_path, env=environment, check=True)
    shards = sorted((tmp_path / "results/shards").iterdir())
    (joined,) = collect([shard for shard in shards if all_runs(shard)], tmp_path / "all").joined
    (folder,) = all_runs(tmp_path / "all")
    assert joined.absent == ()
    assert len(folder.read().records) == 6


def commands_of(text):
    """The words behind `seqsweep`, and those of gpu.sh's steps behind their names."""
    for line in text.replace("\\\n", " ").splitlines():
        command = line.partition("- run: ")[2] or line.strip().removeprefix("- ")
        if command.startswith("seqsweep "):
            yield shlex.split(command, comments=True)[1:]
        elif command.startswith("step ") and line == command:
            yield shlex.split(command)[2:]


@pytest.mark.parametrize("name", ["slurm.sh", "gpu.sh", "job.yaml", "github.yml"])
def test_every_command_in_a_script_has_its_flags(name):
    text = (PAGES / name).read_text()
    if not name.endswith(".sh"):
        assert yaml.safe_load(text)
    found = list(commands_of(text))
    assert found
    for command, *words in found:
        flags = {option for parameter in COMMANDS[command].params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= flags
