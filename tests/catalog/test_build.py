"""A callable's inputs are those of the family's that it names; what names none says how to."""

import functools

import pytest

from harness import Array
from harness.catalog.build import named_inputs

SHAPES = {"scores": Array((4,), "f32"), "bias": Array((4,), "f32")}


class Module:
    """Calls like a torch.nn.Module: whatever it gets goes on."""

    def __call__(self, *args, **kwargs): ...


class Named:
    def __call__(self, bias, *, scale=1.0): ...


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda scores: scores, ("scores",)),
        (lambda bias, scores, other=3: scores, ("bias", "scores")),
        (functools.partial(lambda scores, k: scores, k=3), ("scores",)),
        (Named(), ("bias",)),
    ],
)
def test_inputs_are_named_by_parameters(function, names):
    assert named_inputs(function, SHAPES) == names


def by_place(scores, /): ...


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (None, "the builder returned NoneType; return the callable that is timed"),
        (lambda other: other, 'the callable asks for "other"; the family offers scores, bias'),
        (Module(), 'the callable takes "*args", whatever that is; return a function that names its inputs'),
        (lambda **them: them, 'takes "**them", whatever that is'),
        (by_place, 'the callable takes "scores" by its place alone; return a function that names its inputs'),
        (max, "the parameters of the callable cannot be read; return a function that names its inputs"),
    ],
)
def test_a_callable_that_names_no_input_says_how_to(function, says):
    with pytest.raises(TypeError) as caught:
        named_inputs(function, SHAPES)
    assert says in str(caught.value)
