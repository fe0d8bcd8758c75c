"""Programs compiled for this host, or for an absent TPU, in a child process with its own environment."""

import dataclasses
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


def figures_here(function, *shapes, **more):
    """XLA's figures for a function of f32 arrays on this host."""
    import jax

    from harness.xla import figures

    structs = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    compiled = jax.jit(function).lower(*structs).compile()
    return figures.figures(compiled, "cpu", lower_s=0.0, compile_s=0.0, **more)


def structs_on(device, *shapes, dtype="float32"):
    """Arguments that lie on a device which need not be here."""
    import jax
    from jax.sharding import SingleDeviceSharding

    sharding = SingleDeviceSharding(device)
    return [jax.ShapeDtypeStruct(shape, dtype, sharding=sharding) for shape in shapes]


def static_of(compiled, kind, **more):
    """The figures of a compiled program as `answer_of` gives them."""
    from harness.xla import figures

    return dataclasses.asdict(figures.figures(compiled, kind, lower_s=0.0, compile_s=0.0, **more))
