"""Call torch implementations and references as measuring processes do."""

import inspect
from collections.abc import Mapping

import ml_dtypes
import numpy as np

from harness.catalog.arrays import short_name, walk


def tensor(array, wide=False):
    """A numpy array as a tensor; floating and complex ones in double precision when `wide`."""
    import torch

    if array.dtype == ml_dtypes.bfloat16:
        made = torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    else:
        made = torch.from_numpy(np.array(array))
    if not wide or made.dtype in {torch.int32, torch.int64}:
        return made
    return made.to(torch.complex128 if made.is_complex() else torch.float64)


def array(made):
    """A tensor, or a tree of them, as numpy in double precision."""
    if isinstance(made, Mapping):
        return {name: array(part) for name, part in made.items()}
    return made.detach().double().numpy()


def tensors(tree, wide=False):
    if isinstance(tree, Mapping):
        return {name: tensors(branch, wide) for name, branch in tree.items()}
    return tensor(tree, wide)


def named(function, inputs):
    return {name: inputs[name] for name in inspect.signature(function).parameters if name in inputs}


class Option:
    """An implementation with fixed options, called like any other."""

    def __init__(self, variant, **options):
        self.variant, self.options, self.semantics = variant, options, variant.semantics
        self.name = variant.name + "".join(f"-{value}" for value in options.values())

    def __call__(self, w):
        return self.variant(w, **self.options)


def run(function, inputs, wide=False):
    """The result on numpy inputs, as numpy in double precision."""
    import torch

    with torch.no_grad():
        return array(function(**tensors(named(function, inputs), wide)))


def gradients(function, inputs, cotangent, wide=False):
    """(result, gradients of every floating input by name), as numpy in double precision."""
    import torch

    arguments = tensors(named(function, inputs), wide)
    leaves = {}

    def differentiable(tree, path):
        if isinstance(tree, Mapping):
            return {name: differentiable(branch, (*path, name)) for name, branch in tree.items()}
        if tree.is_floating_point():
            leaves[".".join(path)] = tree.requires_grad_()
        return tree

    with torch.enable_grad():
        result = function(**differentiable(arguments, ()))
        seed = torch.from_numpy(cotangent).to(result.dtype)
        found = torch.autograd.grad(result, list(leaves.values()), seed, allow_unused=True)
    filled = [
        torch.zeros_like(leaf) if g is None else g for g, leaf in zip(found, leaves.values(), strict=True)
    ]
    return array(result), array(dict(zip(leaves, filled, strict=True)))


def run_marks(function, inputs):
    import torch

    with torch.no_grad():
        return function(**tensors(named(function, inputs), wide=True)).numpy()


def flat(tree):
    """(name, shape, short dtype name) of every array of a family's shapes or inputs."""

    def kind(part):
        return part.dtype if isinstance(part.dtype, str) else short_name(part.dtype)

    return sorted((".".join(map(str, path)), tuple(part.shape), kind(part)) for path, part in walk(tree))


def products(function, inputs):
    """FLOPs of the matrix products that a call dispatches."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, torch.no_grad():
        function(**inputs)
    return counter.get_total_flops()


def operators(implementation, family, w):
    """The operators of a forward over fake tensors, each with its shapes: equal for equal programs."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    kinds = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "c64": torch.complex64}
    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            shapes = [tuple(a.shape) for a in args if isinstance(a, torch.Tensor)]
            seen.append((str(func), shapes))
            return func(*args, **(kwargs or {}))

    def empty(part):
        if isinstance(part, Mapping):
            return {name: empty(branch) for name, branch in part.items()}
        return torch.empty(part.shape, dtype=kinds[part.dtype])

    function = implementation(w)
    with FakeTensorMode(), torch.no_grad():
        fake = named(function, empty(family.shapes(w)))
        with Log():
            result = function(**fake)
    return tuple(result.shape), seen
