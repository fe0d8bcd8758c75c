"""Kernels of native sparse attention in Triton, which the forms of `mslk/` and `paper/` put together."""
