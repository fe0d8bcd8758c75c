"""jax: compiled programs, and the trace of its profiler."""
