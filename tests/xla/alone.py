"""Compiling for a TPU which is not there, in a child with the environment that it takes."""

import json
import os
import subprocess
import sys

ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5p-8",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_LOG_DIR": "disabled",
}


def answer_of(root, *words, seed="0"):
    """The JSON that the last line of a script's output is."""
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": str(root), "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
