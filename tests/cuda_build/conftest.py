"""A stub of the CUDA driver, under which the tests of this folder start their processes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("stub_libcuda.c")


class StubDriver:
    """The stub's folder and log. `environment` makes a process load it as its libcuda.so.1."""

    def __init__(self, folder):
        self.folder, self.log = folder, folder / "calls"
        command = ["cc", "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), str(SOURCE), "-lpthread"]
        subprocess.run(command, check=True)

    @property
    def environment(self):
        path = f"{self.folder}{os.pathsep}{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(os.pathsep)
        return {**os.environ, "LD_LIBRARY_PATH": path, "STUB_LIBCUDA_LOG": str(self.log)}

    def calls(self, what):
        """The processes that called cuInit, or forked after it."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [int(line.split()[1]) for line in lines if line.startswith(f"{what} ")]


@pytest.fixture(scope="session")
def cuda_build():
    """What only torch's CUDA build can show: a CPU build never initialises CUDA."""
    pytest.importorskip("triton")
    if pytest.importorskip("torch").version.cuda is None:
        pytest.skip("torch is a CPU build; make test-cuda-build has the other one")


@pytest.fixture
def driver(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler for the stub of the driver")
    return StubDriver(tmp_path)
