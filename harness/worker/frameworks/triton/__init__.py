"""Triton: callables over torch tensors that launch kernels; timed as torch on CUDA, interpreted on the cpu."""
