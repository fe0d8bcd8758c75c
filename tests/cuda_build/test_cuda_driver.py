"""A process knows whether it has called cuInit, and forks no worker after that."""

import subprocess
import sys

KNOWS = """
import ctypes
from harness.worker.fork_server import has_called_cu_init as called
print(called())
library = ctypes.CDLL("libcuda.so.1")
print(called())
library.cuInit(0)
print(called())
"""
PRELOADS = """
import ctypes, os, socket, sys
from harness.core import protocol
from harness.worker import fork_server
from harness.worker.frameworks import base
mine, theirs = protocol.pair()
base.preload = lambda names, *, tracing: ctypes.CDLL("libcuda.so.1").cuInit(0)
if os.fork() == 0:
    mine.close()
    fork_server.main(["mine"], theirs.detach(), sys.argv[1], tracing=True)
print(protocol.receive(mine)[0]["missing"])
"""


def run(driver, code, *words):
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, env=driver.environment, capture_output=True, text=True, check=True).stdout


def test_a_process_knows_whether_it_has_initialised_cuda(driver):
    assert run(driver, KNOWS).split() == ["False", "False", "True"]


def test_a_server_whose_framework_initialises_cuda_says_so_and_forks_nothing(driver, tmp_path):
    assert run(driver, PRELOADS, str(tmp_path / "scratch")) == (
        "mine cannot be imported (importing it calls cuInit, after which forked processes cannot use CUDA)\n"
    )
