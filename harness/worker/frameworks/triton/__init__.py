"""Triton kernels in torch calls: timed like torch on CUDA, interpreted on the cpu."""
