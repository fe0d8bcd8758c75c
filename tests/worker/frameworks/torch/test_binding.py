"""Modules that a callable uses: they move to the case's device, and their parameters get gradients."""

import functools

import pytest

torch = pytest.importorskip("torch")

from harness.catalog.arrays import Array  # noqa: E402 - the modules import torch
from harness.worker.frameworks.base import TraceLimits  # noqa: E402
from harness.worker.frameworks.torch.binding import (  # noqa: E402
    bind,
    modules_of,
    trained_parameters,
)
from harness.worker.frameworks.torch.framework import Torch  # noqa: E402

pytestmark = pytest.mark.torch


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
        self.fixed = torch.nn.Parameter(torch.tensor(1.0), requires_grad=False)
        self.register_buffer("offset", torch.tensor(0.0))

    def forward(self, x):
        return self.gain * x * self.fixed + self.offset


class Holder:
    def __init__(self, module):
        self.module = module
        self.me = self  # a reference cycle

    def __call__(self, x):
        return self.module(x)


def decorated(module):
    @functools.wraps(module)
    def call(*args, **kwargs):
        return module(*args, **kwargs)

    return call


def over_a_list(*modules):
    return lambda x: functools.reduce(lambda value, module: module(value), modules, x)


FORMS = [
    lambda module: module,
    lambda module: module.forward,
    functools.partial,
    Holder,
    decorated,
    lambda module: Holder(module).__call__,
    lambda module: lambda x: module(x) + 1,
    over_a_list,
    lambda module: torch.compile(module, backend="eager")._orig_mod,
    lambda module: torch.compile(decorated(module), backend="eager"),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_callables_modules_are_found_and_moved_to_the_device(form):
    module, runner = Scale(), Torch()
    runner.device = torch.device("meta")
    runner.prepare(form(module), ("x",), {"x": Array((3,), "f32")}, "fwd", TraceLimits(0, 0))
    tensors = [module.gain, module.fixed, module.offset]
    assert [tensor.device.type for tensor in tensors] == ["meta"] * 3
    assert [tensor.dtype for tensor in tensors] == [torch.float64, torch.float32, torch.float32]


def test_a_function_has_no_modules():
    assert modules_of(lambda x: torch.relu(x) + 1) == []
    assert modules_of(torch.compile(torch.relu, backend="eager")) == []


@pytest.fixture
def _gradients():
    """Enable gradients like `enter` in a worker; an earlier test may have disabled them."""
    with torch.enable_grad():
        yield


@pytest.mark.usefixtures("_gradients")
@pytest.mark.parametrize("mode", ["bwd", "fwd_bwd"])
def test_parameters_get_gradients_but_results_contain_only_those_of_inputs(mode):
    module, seen = Scale(), []
    module.gain.register_hook(seen.append)
    x = torch.tensor([1.0, 2.0])
    function = over_a_list(module, module)
    assert trained_parameters(function) == [module.gain]
    call = bind(function, ("x",), mode, {"x": x}, [torch.ones(2)])
    gradients = call()["gradients"]
    assert gradients.keys() == {"x"}
    assert gradients["x"].tolist() == [4.0, 4.0]
    assert [gradient.tolist() for gradient in seen] == [12.0]
    assert module.gain.grad is None
    module.requires_grad_(requires_grad=False)
    assert trained_parameters(function) == []
    assert bind(function, ("x",), mode, {"x": x}, [torch.ones(2)])()["gradients"]["x"].tolist() == [4.0, 4.0]
    assert len(seen) == 1
