"""Triton kernels of native sparse attention, which implementations in `mslk/` and `paper/` combine."""
