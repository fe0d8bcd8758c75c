"""With torch's CUDA build, no process that forks has called cuInit: its children could not use CUDA."""

import subprocess
import sys

import pytest

from harness.catalog.known_frameworks import BUILT_IN
from harness.run.processes.fork_client import Server

pytestmark = [pytest.mark.torch, pytest.mark.full, pytest.mark.usefixtures("cuda_build")]
FEW = ["--seq", "256", "--budget", "20ms"]
THREE = ["attention", "--impl", "dense_sdpa,dense_jax,triton_flash"]
COMMANDS = {
    "run on the cpu": ["run", *THREE, *FEW],
    "run on cuda": ["run", *THREE, "--device", "cuda", *FEW],
    "profile": ["profile", "attention/nsa_mslk", *FEW],
    "static": ["static", *THREE, "--target", "cuda:h100", "--seq", "256"],
}


@pytest.mark.parametrize("framework", BUILT_IN)
def test_a_fork_server_does_not_initialise_cuda(driver, framework, tmp_path):
    server = Server([framework], tmp_path, "cuda", environment=driver.environment)
    try:
        server.wait_ready()
        assert server.missing is None
        assert driver.calls("cuInit") == []
    finally:
        server.close()


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_no_process_of_a_command_forks_after_cuinit(driver, words, tmp_path):
    command = [sys.executable, "cli.py", *words, "--results", str(tmp_path / "results")]
    done = subprocess.run(command, env=driver.environment, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 3}, done.stderr  # 3: a stub has no device to measure on
    assert "Traceback" not in done.stderr
    assert driver.calls("fork") == []


def test_a_process_that_forks_after_cuinit_is_noticed(driver):
    code = "import ctypes, os; ctypes.CDLL('libcuda.so.1').cuInit(0); os.fork()"
    subprocess.run([sys.executable, "-c", code], env=driver.environment, check=True)
    assert len(driver.calls("cuInit")) == len(driver.calls("fork")) == 1
