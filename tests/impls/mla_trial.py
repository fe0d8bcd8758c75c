"""Trials of mla implementations like the harness's, without its processes."""

from inspect import getclosurevars

import numpy as np

from impls.mla.family import FAMILY, Config
from tests.impls.torch_case import tensor, tensors
from tests.impls.trials import trial_of

CHECKS = {check.name: check for check in FAMILY.checks}
NARROW = {
    "small": Config(dim=96, heads=4, q_lora=0, kv_lora=32, nope=16, rope=8, v=24),
    "v3": Config(dim=80, heads=6, q_lora=40, kv_lora=32, nope=16, rope=8, v=24),
}
UNEVEN = {  # no width is a multiple of 128, and most need two blocks
    "small": Config(dim=160, heads=4, q_lora=0, kv_lora=136, nope=20, rope=8, v=36),
    "v3": Config(dim=132, heads=6, q_lora=140, kv_lora=132, nope=16, rope=8, v=24),
}


def attend_of(made):
    """The code with which a callable of one phase attends: equal if two implementations are the same."""
    return getclosurevars(made).nonlocals["attend"].__code__


def drawn(w, seed=0):
    return dict(FAMILY.inputs(w, np.random.default_rng(seed)))


def returned(result, dtype):
    """A result in the workload's own dtype, as the harness passes it to checks."""
    return result.double().numpy().astype(dtype)


def by_torch(function, arrays):
    import torch

    with torch.no_grad():
        return returned(function(**tensors(arrays)), arrays["x"].dtype)


def gradient_of_x(function, arrays):
    import torch

    arguments = tensors(arrays)
    arguments["x"].requires_grad_()
    result = function(**arguments)
    seed = tensor(np.random.default_rng(7).standard_normal(result.shape)).to(result.dtype)
    (gradient,) = torch.autograd.grad(result, [arguments["x"]], seed)
    return {"gradients": {"x": returned(gradient, arrays["x"].dtype)}}


def trial(w, build, mode="fwd", by=by_torch):
    """The trial of a builder on its first inputs; in mode `bwd` of its gradients, with torch."""
    return trial_of(FAMILY, w, build, by, pull=gradient_of_x if mode == "bwd" else None, seed=0)
