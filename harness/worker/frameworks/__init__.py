"""Frameworks and their traits, which are known without importing the framework, in order of display."""

from dataclasses import replace

from harness.catalog.known_frameworks import XLA, FrameworkTraits, Package

TORCH = FrameworkTraits(
    runner="harness.worker.frameworks.torch.framework:Torch",
    packages=(Package("torch", install="'seqsweep[torch]'"),),
    devices=("cpu", "cuda"),
    traces_calls=True,
    host_compiler="torch",
    writes_references=True,
)
JAX = FrameworkTraits(
    runner="harness.worker.frameworks.jax.framework:Jax",
    packages=(
        Package("jax", install="'seqsweep[jax]'"),
        Package("jaxlib", install="'seqsweep[jax]'"),
        Package("libtpu", gives="figures for TPU targets"),
        Package(
            "jax-cuda13-plugin",
            gives="jax on CUDA, figures for CUDA targets",
            install="'jax[cuda13]'",
            fingerprinted=False,  # its version always equals jaxlib's
        ),
    ),
    devices=("cpu", "cuda", "tpu"),
    compiles_calls=True,
    host_compiler="jaxlib",
    cross_compiler=XLA,
    quicker_compile={
        "cuda": "set XLA_FLAGS=--xla_gpu_experimental_enable_fusion_autotuner=false: XLA may spend minutes "
        "autotuning a Triton kernel for a large reduction"
    },
)
NUMPY = FrameworkTraits(
    runner="harness.worker.frameworks.numpy:Numpy",
    packages=(Package("numpy"), Package("ml_dtypes")),
    devices=("cpu",),
    writes_references=True,
)
PALLAS = replace(
    JAX,
    runner="harness.worker.frameworks.pallas:Pallas",
    interpreted_on=("cpu",),
    planned_for=("cuda:a100", "cuda:h100", "tpu:v5p", "tpu:v6e"),
)
TRITON = replace(
    TORCH,
    runner="harness.worker.frameworks.triton.framework:Triton",
    packages=(*TORCH.packages, Package("triton", gives="kernels in Triton", only_on="cuda")),
    cross_compiler="harness.worker.frameworks.triton.kernel_compiler:KernelCompiler",
    interpreted_on=("cpu",),
    planned_for=("cuda:a100", "cuda:h100"),
    writes_references=False,
)
