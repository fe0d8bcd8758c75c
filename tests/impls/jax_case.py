"""Calling jax implementations for their values: compiled once, and quickly."""

import functools
import inspect

import numpy as np

from harness.catalog.arrays import numpy_dtype
from tests.impls.torch_case import named, tensors

PLANNED = {"xla_backend_optimization_level": 0}  # LLVM's; memory and FLOPs are planned before it begins
# Loops by the plain emitter, in one module: the same HLO as lowered, fused a little otherwise.
QUICK = {**PLANNED, "xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}


def jit(function, options=QUICK):
    """`jax.jit` of programs that are called once or twice: compiled in a quarter of the time.

    Only for their values: what XLA plans depends on fusion. Conformance and the command line compile in full.
    """
    import jax

    return jax.jit(function, compiler_options=options)


def run(function, inputs, *, x64=False):
    """The result on the inputs that a callable names, as numpy."""
    import jax

    with jax.enable_x64(x64):
        return jax.tree.map(np.asarray, function(**named(function, inputs)))


@functools.cache
def program(variant, w, options=()):
    """The variant's callable on numpy arrays, compiled unless it is of torch."""
    function = variant(w, **dict(options))
    if getattr(variant, "framework", "jax") != "torch":
        return jit(function)
    return functools.wraps(function)(lambda **inputs: function(**tensors(inputs)))


def call(variant, w, inputs, **options):
    """The variant's result, as numpy, on the inputs that it names."""
    return run(program(variant, w, tuple(options.items())), inputs, x64=getattr(w, "dtype", "") == "f64")


def planned(function, shapes, options=PLANNED):
    """The program of a callable for this host, compiled without its inputs."""
    import jax

    asked = {name: shapes[name] for name in inspect.signature(function).parameters}
    arrays = {name: jax.ShapeDtypeStruct(one.shape, numpy_dtype(one.dtype)) for name, one in asked.items()}
    return jit(function, options).lower(**arrays).compile()
