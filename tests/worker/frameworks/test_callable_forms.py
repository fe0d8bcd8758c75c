"""Callables that a builder may return, by framework; each is called with its named inputs."""

import functools
import inspect

import numpy as np
import pytest

from harness import Array, implementation
from harness.catalog.build import build_callable
from harness.core.errors import Unsupported
from harness.worker.frameworks import base as frameworks
from harness.worker.frameworks.base import TraceLimits

SHAPES = {"bias": Array((3,), "f32"), "x": Array((3,), "f32")}
INPUTS = {"bias": np.array([1, 2, 4], "f4"), "x": np.array([3, 5, 7], "f4")}
SEED = np.array([1, 10, 100], "f4")
GAIN = 2.0
UNTRACED = TraceLimits(0, 0)  # a trace would fork this process
MARKS = {"torch": [pytest.mark.torch], "jax": [pytest.mark.jax]}


def scale(x, gain=GAIN):
    return gain * x


def passing_on(function):
    @functools.wraps(function)
    def pass_on(*args, **kwargs):
        return function(*args, **kwargs)

    return pass_on


class Scale:
    """A callable object with another method."""

    def __init__(self, function=scale):
        self.function = function

    def __call__(self, x):
        return self.function(x)

    def method(self, x):
        return self.function(x)


class Decorated:
    """A callable object that wraps a function, like a class decorator."""

    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        return self.__wrapped__(*args, **kwargs)


PLAIN = {
    "function": lambda: scale,
    "partial": lambda: functools.partial(lambda gain, x: gain * x, GAIN),
    "wrapped": lambda: passing_on(scale),
    "object": Scale,
    "bound method": lambda: Scale().method,
    "decorator's object": lambda: Decorated(scale),
    "with room for more": lambda: lambda x, **_: GAIN * x,
}


def module(trained=True):
    import torch

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = torch.nn.Parameter(torch.tensor(GAIN), requires_grad=trained)

        def forward(self, x):
            return self.gain * x

    return Module()


def torch_forms():
    import torch

    compile_ = functools.partial(torch.compile, backend="eager")
    return {
        "module": module,
        "frozen module": lambda: module(trained=False),
        "module.forward": lambda: module().forward,
        "object with a module": lambda: Scale(module()),
        "compiled module": lambda: compile_(module()),
        "compiled function": lambda: compile_(scale),
        "compiled object": lambda: compile_(Scale()),
        "fx graph": lambda: torch.fx.symbolic_trace(module()),
        "exported module": lambda: torch.export.export(module(), (), {"x": torch.ones(3)}).module(),
    }


def jax_forms():
    import jax

    return {
        "jit of an object": lambda: jax.jit(Scale()),
        "jit with a static argument": lambda: jax.jit(scale, static_argnames="gain"),
        "partial of a jit": lambda: functools.partial(jax.jit(scale), gain=GAIN),
    }


def sequential():
    import torch

    return torch.nn.Sequential(module())


def variadic_module():
    import torch

    class Variadic(torch.nn.Module):
        def forward(self, *args):
            return args[0]

    return Variadic()


def executable():
    import jax

    return jax.jit(scale).lower(x=np.ones(3, "f4")).compile()


REFUSED = {
    "variadic": (lambda: lambda *args: args[0], 'the callable takes "*args", but no input by name'),
    "by any name": (lambda: lambda **them: them, 'the callable takes "**them", but no input by name'),
    "nothing": (lambda: lambda: 1, "the callable takes nothing, but no input by name"),
    "constants": (lambda: lambda gain=1: gain, 'the callable takes "gain=1", but no input by name'),
    "another name": (lambda: lambda other: other, 'the callable has an unknown parameter "other"'),
    "by place": (lambda: lambda x, /: x, 'the parameter "x" of the callable is positional-only'),
    "in C": (lambda: max, "the parameters of the callable cannot be read"),
    "no callable": (lambda: None, "the builder returned NoneType; return the callable that is timed"),
}
REFUSED_BY = {
    "torch": {
        "sequential": (sequential, 'the callable has an unknown parameter "input"'),
        "variadic module": (variadic_module, 'the callable takes "*args", but no input by name'),
    },
    "jax": {"executable": (executable, "but no input by name")},
}
FORMS_OF = {"numpy": dict, "torch": torch_forms, "jax": jax_forms}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=MARKS.get(name, ())) for name in FORMS_OF])
def framework(request):
    pytest.importorskip(request.param)
    made = frameworks.get(request.param)
    made.start("cpu", 1, wide=False)
    return request.param, made


def built(framework, make):
    """(callable, names) of a builder, and its location in errors."""

    @implementation(framework=framework, semantics="scaled")
    def build(w):
        return make()

    place = f"{__file__.rpartition('/')[2]}:{inspect.getsourcelines(build.builder)[1]}"
    return place, lambda: build_callable(build, None, {}, SHAPES)


@pytest.mark.parametrize("mode", ["fwd", "fwd_bwd", "bwd"])
def test_every_callable_form_gets_its_named_inputs(framework, mode):
    name, runner = framework
    for form, make in {**PLAIN, **FORMS_OF[name]()}.items():
        if mode != "fwd" and name == "numpy":
            continue
        function, names = built(name, make)[1]()
        assert names == ("x",), form
        runner.enter(mode, wide=False)
        prepared = runner.prepare(function, names, SHAPES, mode, UNTRACED)
        inputs = {each: runner.put(INPUTS[each]) for each in names}
        result = runner.get(prepared.bind(inputs, None if mode == "fwd" else (runner.put(SEED),))())
        runner.enter("fwd", wide=False)
        value = {"fwd": result}.get(mode, result.get("result") if isinstance(result, dict) else None)
        if mode != "bwd":
            assert value.tolist() == (GAIN * INPUTS["x"]).tolist(), form
        if mode != "fwd":
            assert result["gradients"].keys() == {"x"}, form
            assert result["gradients"]["x"].tolist() == (GAIN * SEED).tolist(), form


def test_inputs_are_in_the_callables_order():
    assert built("numpy", lambda: lambda x, gain=1, *, bias: x)[1]()[1] == ("x", "bias")


def test_a_callable_without_named_inputs_is_unsupported(framework):
    name, _ = framework
    for form, (make, why) in {**REFUSED, **REFUSED_BY.get(name, {})}.items():
        place, build = built(name, make)
        with pytest.raises(Unsupported) as refusal:
            build()
        assert str(refusal.value).startswith(f"{place}: "), form
        assert why in str(refusal.value), form
        assert form == "no callable" or "return a function with inputs by name (of bias, x)" in str(
            refusal.value
        ), form
