"""Pallas: jax calls of TPU kernels; timed as jax is on a TPU or GPU, interpreted on the cpu."""

from dataclasses import replace

from harness.worker.frameworks.jax import TRAITS as JAX

TRAITS = replace(
    JAX,
    runner="harness.worker.frameworks.pallas.framework:Pallas",
    kernel_compiler="libtpu",
    interpreted_on=("cpu",),
    planned_for=("tpu:v5p", "tpu:v6e"),
)
