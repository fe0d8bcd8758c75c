"""Ctrl-C while a compiler keeps Python's lock: each case of the group has a record."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from harness.run.case.case_state import NOT_REACHED
from tests.cli.forked import HEEDING_CTRL_C, ROOT

PLUGIN = ROOT / "tests/worker/compiling_plugin.py"
BENCH = """\
plugins: [compiling_plugin.py]
defaults: {budget: 50ms, timeout: 60s, memory: 2GiB}
suites:
  compiled: {family: topk, seq: 256, rows: 4, topk: 32, baseline: exact, impls: [exact, never_compiles]}
"""


@pytest.mark.jax
@pytest.mark.full
def test_the_case_that_compiles_has_a_record_and_the_command_that_goes_on_is_named(tmp_path, wait_until):
    (tmp_path / "bench.yaml").write_text(BENCH)
    shutil.copy(PLUGIN, tmp_path)
    (tmp_path / "tmp").mkdir()
    running = subprocess.Popen(
        [sys.executable, "-c", HEEDING_CTRL_C, sys.executable, str(ROOT / "cli.py"), "run", "compiled"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert wait_until((tmp_path / "compiles").exists, 120)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=120)
    shown = subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), "show", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    records = {record["implementation"]: record for record in json.loads(shown.stdout)["records"]}
    assert running.returncode == 130
    assert "resume with: " in err
    assert {name: record["reason"] for name, record in records.items()} == {
        "topk/exact": NOT_REACHED,
        "topk/never_compiles": NOT_REACHED,
    }
