"""jax: compiled programs, and the trace of its profiler."""

from harness.catalog.known_frameworks import XLA, FrameworkTraits, Package

TRAITS = FrameworkTraits(
    runner="harness.worker.frameworks.jax.framework:Jax",
    packages=(
        Package("jax", install="'seqsweep[jax]'"),
        Package("jaxlib", install="'seqsweep[jax]'"),
        Package("libtpu", gives="figures for TPU targets"),
        Package(
            "jax-cuda13-plugin",
            gives="jax on CUDA, figures for CUDA targets",
            install="'jax[cuda13]'",
            fingerprinted=False,  # always of jaxlib's version
        ),
    ),
    devices=("cpu", "cuda", "tpu"),
    compiles_calls=True,
    host_compiler="jaxlib",
    cross_compiler=XLA,
    quicker_compile={
        "cuda": "set XLA_FLAGS=--xla_gpu_experimental_enable_fusion_autotuner=false: XLA may spend minutes "
        "on a Triton kernel for a large reduction, only to compare it with its own"
    },
)
