"""docs/machines/gpu.sh with a command that records its arguments, and gpu_check.py without packages."""

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from tests.cli.forked import HEEDING_CTRL_C

ROOT = Path(__file__).resolve().parents[2]
SCRIPT, CHECK = ROOT / "docs/machines/gpu.sh", ROOT / "docs/machines/gpu_check.py"
STEPS = re.findall(r"^step (\w+) ", SCRIPT.read_text(), re.MULTILINE)
FAKE = """#!/bin/sh
echo "$@" >>asked
echo "table of $2"
for word; do
  [ "$word" = "$REFUSED" ] && exit 2
  [ "$word" = "$EMPTY" ] && exit 3
  [ "$word" = "$BROKEN" ] && exit 5
  [ "$word" = "$HANGS" ] && { trap 'exit 130' INT; touch hangs; while :; do sleep 0.1; done; }
done
exit 0
"""


@pytest.fixture
def borrow(tmp_path):
    """Runs gpu.sh with a command that ends at once, as on a machine with all packages."""
    fake = tmp_path / "fake"
    fake.write_text(FAKE)
    fake.chmod(0o755)

    def run(*words, **environment):
        (tmp_path / "asked").write_text("")
        done = subprocess.run(
            [SCRIPT, *words],
            cwd=tmp_path,
            env={**os.environ, "SEQSWEEP": str(fake), "PYTHON": "true", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return (tmp_path / "asked").read_text().splitlines(), done

    return run


def test_each_step_is_measured_once_and_its_table_is_shown(borrow, tmp_path):
    asked, done = borrow()
    assert (len(asked), done.returncode) == (len(STEPS), 0)
    assert all("--device cuda --results results/gpu --budget 250ms --timeout 20s" in words for words in asked)
    assert done.stdout.count("table of ") == len(STEPS)
    assert {path.name for path in tmp_path.iterdir()} == {"results", "fake", "asked"}
    again, done = borrow()
    assert (again, done.returncode) == ([], 0)
    assert done.stdout.count("measured before") == len(STEPS)


@pytest.mark.parametrize(
    ("environment", "asked", "code", "last", "again"),
    [
        ({"MINUTES": "0"}, 0, 1, f"left to measure: {' '.join(STEPS)}; to continue, ", [False] * len(STEPS)),
        ({"EMPTY": "attention_given_kernels"}, len(STEPS), 1, "left to measure: given;", [True]),
        ({"REFUSED": "profile"}, len(STEPS), 2, "refused: stages;", [False]),
        ({"BROKEN": "topk"}, STEPS.index("topk") + 1, 5, "", None),
        ({"MINUTES": "soon"}, 0, 2, "", None),
    ],
    ids=str,
)
def test_remaining_steps_are_named_and_measured_by_the_same_command(
    borrow, environment, asked, code, last, again
):
    """`again`: for each step that is measured then, whether it goes on with what it has."""
    steps, done = borrow(**environment)
    assert (len(steps), done.returncode) == (asked, code)
    assert done.stdout.splitlines()[-1].startswith(last)
    if again is not None:
        steps, done = borrow()
        assert (["--resume" in words.split() for words in steps], done.returncode) == (again, 0)


def test_ctrl_c_stores_the_step_and_says_how_to_continue(borrow, tmp_path):
    borrow(MINUTES="0")
    running = subprocess.Popen(
        [sys.executable, "-c", HEEDING_CTRL_C, SCRIPT],
        cwd=tmp_path,
        env={**os.environ, "SEQSWEEP": str(tmp_path / "fake"), "PYTHON": "true", "HANGS": "topk"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (tmp_path / "hangs").exists():
        assert running.poll() is None
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out.splitlines()[-1] == (
        "stopped; the results so far are in results/gpu. To continue, run the same command again"
    )
    asked, done = borrow()
    assert (len(asked), done.returncode) == (len(STEPS) - STEPS.index("topk"), 0)
    assert ["--resume" in words.split() for words in asked] == [True] + [False] * (len(asked) - 1)


def check(*words, flags=(), **environment):
    return subprocess.run(
        [sys.executable, *flags, CHECK, *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_packages_the_command_that_installs_them_is_printed():
    done = check("cpu", flags=("-I", "-S"))
    assert done.returncode == 5
    assert "no torch, no triton, no jax" in done.stdout
    (missing,) = [line for line in done.stdout.splitlines() if line.startswith("missing: ")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for requirement in (*project["dependencies"], *extras["torch"], *extras["jax"]):
        assert (requirement in missing) is not requirement.startswith("jax")
    assert f"{sys.executable} -m pip install 'typer" in missing


def test_installed_packages_are_printed_with_their_versions_and_not_loaded(tmp_path):
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 580.159.04, 81559 MiB'\n")
    smi.chmod(0o755)
    done = check("cpu", flags=("-X", "importtime"), PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 0
    assert f"Python {sys.version.split()[0]}, {sys.executable}" in done.stdout
    assert "GPU: NVIDIA H100 80GB HBM3, 580.159.04, 81559 MiB" in done.stdout
    assert not re.search(r"\| +(torch|jax|triton|numpy)$", done.stderr, re.MULTILINE)


def test_a_device_without_its_driver_is_missing(tmp_path):
    nothing = {"PATH": str(tmp_path)}
    done = check("cuda", **nothing)
    assert done.returncode == 5
    assert "missing: an NVIDIA GPU with its driver; DEVICE=cpu tries the steps without one" in done.stdout
    assert check("tpu", **nothing).returncode == 2
