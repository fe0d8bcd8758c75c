import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache

import pytest

from harness.catalog import discovery
from harness.commands.app import app
from harness.commands.exit_codes import call_app
from tests.cli.forked import ROOT, SECONDS, call_forked

CATALOG = cache(discovery.catalog)

BENCH = """\
default: [mask]
defaults: {budget: 50ms, timeout: 60s, memory: 4GiB}
suites:
  mask:
    family: mask
    seq: [256, 512, 1Ki]
    rows: 4
    topk: 32
    baseline: broadcast
    impls: [broadcast, scatter, threshold_raw]
  broken:
    family: offsets
    seq: [512]
    kind: causal
    layout: cross
    baseline: mask_quadratic
    impls: [mask_quadratic, compact_bincount]
"""


@dataclass
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self):
        assert self.out.count("\n") == 1, "one JSON object and nothing else"
        return json.loads(self.out)


@pytest.fixture(scope="session")
def wait_until():
    def wait(condition, seconds):
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.01)
        return condition()

    return wait


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A folder with a small bench.yaml, as a user's repository would have."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "bench.yaml").write_text(BENCH)
    return folder


def call(folder, *words, **environment):
    """Run the command line in `folder` as a user does, with a separate device lock."""
    own = folder / "tmp"
    own.mkdir(exist_ok=True)
    whole = {**os.environ, "COLUMNS": "160", "TMPDIR": str(own), **environment}
    if "PYTHONPATH" not in environment:
        return Said(*call_forked(folder, words, whole))
    done = subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), *words],
        cwd=folder,
        env=whole,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def records(folder, *command, code=0):
    """The records that a command answers with; none would let a test that goes through them pass."""
    done = call(folder, *command, "--json")
    assert done.code == code, done.out + done.err
    assert "Traceback" not in done.err
    found = json.loads(done.out)["records"]
    assert found
    return found


@pytest.fixture(scope="session")
def seqsweep(project):
    def ask(*words, folder=project, **environment):
        said = call(folder, *words, **environment)
        assert "Traceback" not in said.err, said.err
        return said

    return ask


@pytest.fixture
def in_process(project, monkeypatch, capsys):
    """`seqsweep` in this process, a second less, for words that measure nothing; its lock is its own."""
    monkeypatch.setattr(discovery, "catalog", CATALOG)
    monkeypatch.setattr("tempfile.tempdir", str(project))
    monkeypatch.setenv("COLUMNS", "160")

    def ask(*words, folder=project):
        monkeypatch.chdir(folder)
        code = call_app(app, list(map(str, words)))
        return Said(code, *capsys.readouterr())

    return ask


@pytest.fixture(scope="session")
def measured(seqsweep):
    """One real run, shared by the tests that read it."""
    return seqsweep("run", "--json")
