"""Triton: torch calls that launch kernels; timed as torch is on CUDA, interpreted on the cpu."""
