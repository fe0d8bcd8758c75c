"""The inputs that a callable takes, by the parameters of what it calls in the end."""

import functools
import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any

from harness.catalog.arrays import Shapes
from harness.core.errors import Unsupported

VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# What a callable hands its arguments to: a module of torch.compile, a decorator, a torch.nn.Module.
INNER = ("_orig_mod", "__wrapped__", "forward")
SCHEMAS = ("schema", "_schema")  # of a function or method of torch.jit.script, and of an operator


def named_inputs(function: Callable[..., Any], shapes: Shapes) -> tuple[str, ...]:
    """The family's inputs that a callable takes, by parameter name. Unsupported where it names none."""
    if not callable(function):
        came = type(function).__name__
        raise Unsupported(f"the builder returned {came}; return the callable that is timed")
    offered = ", ".join(shapes)
    remedy = (
        f"return a function that names its inputs, of {offered}, as in lambda {next(iter(shapes), '')}: …"
    )
    try:
        parameters = signature_of(function).parameters
    except ValueError:  # of most functions written in C
        raise Unsupported(f"the parameters of the callable cannot be read; {remedy}") from None
    for parameter in parameters.values():
        if parameter.kind in VARIADIC or parameter.default is not parameter.empty:
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise Unsupported(f'the callable takes "{parameter.name}" by its place alone; {remedy}')
        if parameter.name not in shapes:
            raise Unsupported(f'the callable asks for "{parameter.name}"; {remedy}')
    names = tuple(name for name in parameters if name in shapes)
    if shapes and not names:
        takes = ", ".join(f'"{parameter}"' for parameter in parameters.values()) or "nothing"
        raise Unsupported(f"the callable takes {takes} and so names no input; {remedy}")
    return names


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a callable, or of what it hands all of its arguments to. ValueError without any."""
    unreadable = None
    try:
        found = inspect.signature(function)
        if not any(parameter.kind in VARIADIC for parameter in found.parameters.values()):
            return found
    except ValueError as error:
        found, unreadable = None, error
    if isinstance(function, functools.partial):
        return _signature_of_partial(function)
    owner: Any = function.__self__ if isinstance(function, MethodType) else None
    if isinstance(function, MethodType) and callable(owner) and function.__func__ is type(owner).__call__:
        return signature_of(owner)
    for name in INNER:
        if callable(inner := getattr(function, name, None)):
            return signature_of(inner)
    for name in SCHEMAS:
        if (arguments := getattr(getattr(function, name, None), "arguments", None)) is not None:
            return inspect.Signature([_parameter(each) for each in arguments if not _is_module(each)])
    if found is None:
        raise ValueError("it has no signature") from unreadable
    return found


def _signature_of_partial(function: functools.partial[Any]) -> inspect.Signature:
    def stand_in() -> None:
        """Bears the signature of the function, from which Python takes what the partial has bound."""

    vars(stand_in)["__signature__"] = signature_of(function.func)
    return inspect.signature(functools.partial(stand_in, *function.args, **function.keywords))


def _is_module(argument: Any) -> bool:
    """Whether an argument of a schema is the scripted module itself, which its method has bound."""
    return argument.type.kind() == "ClassType"


def _parameter(argument: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    return inspect.Parameter(argument.name, kind, default=default)
