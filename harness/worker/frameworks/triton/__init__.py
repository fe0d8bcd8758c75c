"""Triton: torch calls that launch kernels; timed like torch on CUDA, interpreted on the cpu."""
