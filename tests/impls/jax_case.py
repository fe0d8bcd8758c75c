"""Call jax implementations for their values, with quick compilation."""

import functools
import inspect

import numpy as np

from harness.catalog.arrays import numpy_dtype
from tests.impls.torch_case import named, tensors

PLANNED = {"xla_backend_optimization_level": 0}  # LLVM's; memory and FLOPs are planned before it starts
# Loops by the plain emitter, in one module: the same HLO as lowered, with slightly different fusion.
QUICK = {**PLANNED, "xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}


@functools.cache
def quick_options():
    """QUICK if this jaxlib knows its options, which differ between releases; else PLANNED."""
    import jax

    try:
        jax.jit(lambda: 0, compiler_options=QUICK)()
    except jax.errors.JaxRuntimeError:
        return PLANNED
    return QUICK


def jit(function, options=None):
    """`jax.jit` of programs that are called once or twice: compiled in a quarter of the time.

    Use only for values, because XLA's plan depends on fusion. Conformance and the command line compile in
    full.
    """
    import jax

    return jax.jit(function, compiler_options=options or quick_options())


def run(function, inputs, *, x64=False):
    """The result on the inputs that a callable names, as numpy."""
    import jax

    with jax.enable_x64(x64):
        return jax.tree.map(np.asarray, function(**named(function, inputs)))


@functools.cache
def program(variant, w, options=()):
    """The implementation's callable on numpy arrays, compiled unless it is torch's."""
    function = variant(w, **dict(options))
    if getattr(variant, "framework", "jax") != "torch":
        return jit(function)
    return functools.wraps(function)(lambda **inputs: function(**tensors(inputs)))


def call(variant, w, inputs, **options):
    """The implementation's result, as numpy, for the inputs that it names."""
    return run(program(variant, w, tuple(options.items())), inputs, x64=getattr(w, "dtype", "") == "f64")


def planned(function, shapes, options=PLANNED):
    """The compiled program of a callable for this host, without inputs."""
    import jax

    asked = {name: shapes[name] for name in inspect.signature(function).parameters}
    arrays = {name: jax.ShapeDtypeStruct(one.shape, numpy_dtype(one.dtype)) for name, one in asked.items()}
    return jit(function, options).lower(**arrays).compile()


def wide(tree):
    """Convert every array to double precision, on the host."""
    import jax

    return jax.tree.map(lambda part: np.asarray(part).astype(np.float64), tree)


def gradients(function, inputs, cotangent):
    """(None, gradients of every floating input), under the names that `torch_case.gradients` gives them."""
    import jax
    import jax.numpy as jnp

    def is_floating(tree):
        return all(jnp.issubdtype(part.dtype, jnp.floating) for part in jax.tree.leaves(tree))

    with jax.enable_x64(first_dtype(inputs) == np.float64):
        arguments = named(function, inputs)
        fixed = {name: arguments.pop(name) for name in list(arguments) if not is_floating(arguments[name])}

        @jit
        def pulled(floating):
            result, pull = jax.vjp(lambda floating: function(**floating, **fixed), floating)
            return pull(jnp.asarray(cotangent, result.dtype))[0]

        found = wide(pulled(arguments))
    parts = {name: tree if isinstance(tree, dict) else {"": tree} for name, tree in found.items()}
    return None, {f"{name}.{part}".strip("."): g for name, tree in parts.items() for part, g in tree.items()}


def first_dtype(inputs):
    return next(iter(inputs.values())).dtype
