"""Trials of mla variants as the harness makes them, without its processes."""

import inspect

import numpy as np

from harness import Trial
from harness.core.static_figures import Static
from impls.mla.family import CONFIGS, FAMILY, Config
from tests.impls.jax_case import jit
from tests.impls.torch_case import tensor, tensors

CHECKS = {check.name: check for check in FAMILY.checks}
NARROW = {
    "small": Config(dim=96, heads=4, q_lora=0, kv_lora=32, nope=16, rope=8, v=24),
    "v3": Config(dim=80, heads=6, q_lora=40, kv_lora=32, nope=16, rope=8, v=24),
}
UNEVEN = {  # no width is a multiple of 128, and most need two blocks
    "small": Config(dim=160, heads=4, q_lora=0, kv_lora=136, nope=20, rope=8, v=36),
    "v3": Config(dim=132, heads=6, q_lora=140, kv_lora=132, nope=16, rope=8, v=24),
}


def alone(monkeypatch, configs):
    """Small configurations on one thread: threads cost more than matrices of this size."""
    import torch

    for name, config in configs.items():
        monkeypatch.setitem(CONFIGS, name, config)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def drawn(w, seed=0):
    return dict(FAMILY.inputs(w, np.random.default_rng(seed)))


def returned(result, dtype):
    """A result in the workload's own dtype, as the harness hands it over."""
    return result.double().numpy().astype(dtype)


def by_torch(function, arrays):
    import torch

    with torch.no_grad():
        return returned(function(**tensors(arrays)), arrays["x"].dtype)


def by_jax(function, arrays):
    import jax

    with jax.enable_x64(arrays["x"].dtype == np.float64):
        return np.asarray(jit(function)(**arrays))


def trial(w, build, mode="fwd", by=by_torch):
    """The trial of a builder on its first inputs; in `bwd` of its gradients, with torch."""
    import torch

    function, arrays = build(w), drawn(w)
    inputs = {name: arrays[name] for name in inspect.signature(function).parameters}
    built = {w: function}

    def solve(workload, given):
        if workload not in built:
            built[workload] = build(workload)
        called = built[workload]
        return by(called, {name: given[name] for name in inspect.signature(called).parameters})

    def call(changed):
        assert set(changed) <= set(inputs)
        if mode == "fwd":
            return solve(w, {**inputs, **changed})
        arguments = tensors({**inputs, **changed})
        arguments["x"].requires_grad_()
        result = function(**arguments)
        seed = tensor(np.random.default_rng(7).standard_normal(result.shape)).to(result.dtype)
        (gradient,) = torch.autograd.grad(result, [arguments["x"]], seed)
        return {"gradients": {"x": returned(gradient, inputs["x"].dtype)}}

    return Trial(
        workload=w,
        inputs=inputs,
        result=call({}),
        call=call,
        solve=solve,
        static=Static.none("nothing was compiled"),
        mode=mode,
        options={},
    )
