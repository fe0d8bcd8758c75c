"""Triton kernels judged as a user has them judged: by `seqsweep run`, interpreted on the cpu."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def assert_contracts_hold(folder, family, *words, cases):
    """Every case of the run is planned, since an interpreter's time is none, and its contract passed."""
    command = [sys.executable, str(ROOT / "cli.py"), "run", family, *words, "--json"]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    records = json.loads(done.stdout)["records"]
    assert len(records) == cases
    for record in records:
        assert record["status"] == "planned", (record["case"], record["reason"])
        assert record["correctness"]["passed"], record["case"]
