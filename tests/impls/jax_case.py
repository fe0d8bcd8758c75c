"""Calling jax implementations for their values: compiled once, and quickly."""

import inspect
from functools import cache


def jit(function):
    """`jax.jit` whose programs LLVM leaves as they come: compiled in half the time.

    What XLA plans (memory, FLOPs) does not depend on it; conformance and the command line compile in full.
    """
    import jax

    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})


@cache
def program(variant, w, options):
    """The variant's compiled callable, and the names of its inputs."""
    function = variant(w, **dict(options))
    return jit(function), tuple(inspect.signature(function).parameters)


def call(variant, w, inputs, **options):
    """The variant's result, as numpy, on the inputs that it names."""
    import jax
    import numpy as np

    with jax.enable_x64(w.dtype == "f64" if hasattr(w, "dtype") else False):
        function, names = program(variant, w, tuple(options.items()))
        return jax.tree.map(np.asarray, function(**{name: inputs[name] for name in names}))
