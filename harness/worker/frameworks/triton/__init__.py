"""Triton: torch calls that launch kernels; timed like torch on CUDA, interpreted on the cpu."""

from dataclasses import replace

from harness.catalog.known_frameworks import Package
from harness.worker.frameworks.torch import TRAITS as TORCH

TRAITS = replace(
    TORCH,
    runner="harness.worker.frameworks.triton.framework:Triton",
    packages=(*TORCH.packages, Package("triton", gives="kernels in Triton", only_on="cuda")),
    cross_compiler="harness.worker.frameworks.triton.kernel_compiler:KernelCompiler",
    interpreted_on=("cpu",),
    planned_for=("cuda:a100", "cuda:h100"),
    writes_references=False,
)
