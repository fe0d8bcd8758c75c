"""Pallas: kernels for TPUs and GPUs in jax calls; timed on an accelerator, interpreted on the cpu."""

from dataclasses import replace

from harness.worker.frameworks.jax import TRAITS as JAX

TRAITS = replace(
    JAX,
    runner="harness.worker.frameworks.pallas.framework:Pallas",
    interpreted_on=("cpu",),
    planned_for=("cuda:a100", "cuda:h100", "tpu:v5p", "tpu:v6e"),
)
