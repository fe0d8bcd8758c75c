"""An environment without torch, and one without jax: the rest runs, and one line names what is missing."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OF = {  # framework → what the files of its packages begin with
    "torch": ("torch", "functorch", "triton"),
    "jax": ("jax", "libtpu"),
}
BENCH = """\
defaults: {budget: 10ms, timeout: 60s, memory: 4GiB}
suites:
  topk: {family: topk, seq: [512], rows: 2, topk: 32, baseline: exact, impls: [exact, torch_topk, partition]}
"""


@pytest.fixture(scope="module", params=OF)
def lacking(request, tmp_path_factory):
    """(the missing framework, Python with every other package of this one, a project's folder)."""
    folder = tmp_path_factory.mktemp(f"no_{request.param}")
    venv.create(folder / "venv", with_pip=False)
    (site,) = (folder / "venv/lib").glob("python*/site-packages")
    for place in map(Path, sys.path):
        for path in place.iterdir() if place.name == "site-packages" and place.is_dir() else ():
            link = site / path.name
            if not path.name.startswith(OF[request.param]) and path.suffix != ".pth" and not link.exists():
                link.symlink_to(path)
    (folder / "bench.yaml").write_text(BENCH)
    return request.param, folder / "venv/bin/python", folder


def call(lacking, *words):
    _, python, folder = lacking
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [python, ROOT / "cli.py", *words],
        cwd=folder,
        env={**environment, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_installed_frameworks_run(lacking):
    done = call(lacking, "run", "topk", "--json")
    assert done.returncode == 0, done.stderr
    labels = {"torch": {"topk/exact", "topk/partition"}, "jax": {"topk/torch_topk", "topk/partition"}}
    records = json.loads(done.stdout)["records"]
    assert {record["case"].partition("@")[0]: record["status"] for record in records} == dict.fromkeys(
        labels[lacking[0]], "ok"
    )
    (said,) = [line for line in done.stderr.splitlines() if "not installed" in line]
    assert said == (
        f"left out: implementations that need {lacking[0]} (not installed): 1; "
        f"pip install 'seqsweep[{lacking[0]}]'"
    )


def test_a_missing_framework_requested_by_name_is_refused(lacking):
    name = {"torch": "torch_topk", "jax": "exact"}[lacking[0]]
    done = call(lacking, "run", "topk", "--impl", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"seqsweep: topk/{name} needs {lacking[0]}, which is not installed; "
        f"pip install 'seqsweep[{lacking[0]}]'\n"
    )
