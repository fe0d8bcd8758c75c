"""The inputs that a callable takes, by the parameters of what it calls in the end."""

import functools
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from types import MethodType
from typing import Any

from harness.catalog.arrays import Shapes
from harness.core.errors import Unsupported

VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
# What a callable hands its arguments to: a module of torch.compile, a decorator, a torch.nn.Module.
INNER = ("_orig_mod", "__wrapped__", "forward")
SCHEMAS = ("schema", "_schema")  # of a function or method of torch.jit, and of an operator


def named_inputs(function: Callable[..., Any], shapes: Shapes) -> tuple[str, ...]:
    """The family's inputs that a callable takes, by parameter name. Unsupported where it names none."""
    if not callable(function):
        came = type(function).__name__
        raise Unsupported(f"the builder returned {came}; return the callable that is timed")
    offered, first = ", ".join(shapes), next(iter(shapes), "")
    remedy = f"return a function that names its inputs, of {offered}, as in lambda {first}: …"
    try:
        parameters = signature_of(function).parameters
    except ValueError:  # of most functions written in C
        raise Unsupported(f"the parameters of the callable cannot be read; {remedy}") from None
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and parameter.kind not in VARIADIC:
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise Unsupported(f'the callable takes "{name}" by its place alone; {remedy}')
            if name not in shapes:
                raise Unsupported(f'the callable asks for "{name}"; {remedy}')
    names = tuple(name for name in parameters if name in shapes)
    if shapes and not names:
        takes = ", ".join(f'"{parameter}"' for parameter in parameters.values()) or "nothing"
        raise Unsupported(f"the callable takes {takes} and so names no input; {remedy}")
    return names


def signature_of(function: Callable[..., Any]) -> Signature:
    """The signature of a callable, or of what it hands all of its arguments to. ValueError without any."""
    try:
        found = signature(function)
    except ValueError:
        found = None
    if found and not any(parameter.kind in VARIADIC for parameter in found.parameters.values()):
        return found
    if isinstance(function, functools.partial):
        bare: Any = lambda: None  # noqa: E731 - bears the signature from which Python takes what is bound
        bare.__signature__ = signature_of(function.func)
        return signature(functools.partial(bare, *function.args, **function.keywords))
    owner: Any = getattr(function, "__self__", None)
    if isinstance(function, MethodType) and callable(owner) and function.__func__ is type(owner).__call__:
        return signature_of(owner)
    for name in INNER:
        if callable(inner := getattr(function, name, None)):
            return signature_of(inner)
    for name in SCHEMAS:
        if arguments := getattr(getattr(function, name, None), "arguments", None):
            return Signature([_parameter(each) for each in arguments if each.type.kind() != "ClassType"])
    if found is None:
        raise ValueError("it has no signature")
    return found


def _parameter(argument: Any) -> Parameter:
    """An argument of a schema; that of a ClassType is a scripted module, which its method has bound."""
    kind = Parameter.KEYWORD_ONLY if argument.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD
    default = argument.default_value if argument.has_default_value() else Parameter.empty
    return Parameter(argument.name, kind, default=default)
