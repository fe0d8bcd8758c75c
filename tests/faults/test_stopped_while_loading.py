"""Ctrl-C in the second in which the command loads its modules: a sentence and 130, wherever it lands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The signal comes while this module is looked for: no clock decides where it lands.
STOPPED_AT = """\
import os, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["STOPPED_AT"]:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Finder())
"""
STARTS = {
    "checkout": [str(ROOT / "cli.py")],
    "installed": ["-c", "from seqsweep import main; main()"],
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "module", ["harness", "harness.commands.app", "typer", "harness.core.errors", "harness.catalog.discovery"]
)
def test_ctrl_c_during_import_is_one_sentence(tmp_path, module, start):
    (tmp_path / "sitecustomize.py").write_text(STOPPED_AT)
    path = [str(tmp_path), str(ROOT), str(ROOT / "harness/entry")]
    done = subprocess.run(
        [sys.executable, *STARTS[start], "list"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "STOPPED_AT": module},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "seqsweep: stopped\n")
