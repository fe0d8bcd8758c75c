"""Pallas: jax calls of TPU kernels; timed as jax is on a TPU or GPU, interpreted on the cpu."""
