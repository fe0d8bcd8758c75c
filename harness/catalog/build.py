"""Build a case: from a registered name to its callable, the first step of every worker."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from types import MethodType, ModuleType
from typing import Any

from harness.catalog import loading
from harness.catalog.arrays import Shapes, nbytes
from harness.catalog.bounds import Promise, contract_of
from harness.catalog.family import Family, Semantics
from harness.catalog.implementation import Implementation, OwnSemantics
from harness.core.case import Case
from harness.core.errors import Unsupported, family_code
from harness.core.plain_data import plain
from harness.core.record import Cost
from harness.core.static_figures import Static

VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
# Attributes to which a callable passes its arguments: of torch.compile, a decorator, a torch.nn.Module.
INNER = ("_orig_mod", "__wrapped__", "forward")


def named_inputs(function: Callable[..., Any], shapes: Shapes) -> tuple[str, ...]:
    """The family's inputs that a callable takes, by parameter name. Unsupported if it names none."""
    if not callable(function):
        came = type(function).__name__
        raise Unsupported(f"the builder returned {came}; return the callable that is timed")
    offered, first = ", ".join(shapes), next(iter(shapes), "")
    remedy = f"return a function with inputs by name (of {offered}), for example lambda {first}: …"
    try:
        parameters = signature_of(function).parameters
    except ValueError:  # raised for most functions written in C
        raise Unsupported(f"the parameters of the callable cannot be read; {remedy}") from None
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and parameter.kind not in VARIADIC:
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise Unsupported(f'the parameter "{name}" of the callable is positional-only; {remedy}')
            if name not in shapes:
                raise Unsupported(f'the callable has an unknown parameter "{name}"; {remedy}')
    names = tuple(name for name in parameters if name in shapes)
    if shapes and not names:
        takes = ", ".join(f'"{parameter}"' for parameter in parameters.values()) or "nothing"
        raise Unsupported(f"the callable takes {takes}, but no input by name; {remedy}")
    return names


def signature_of(function: Callable[..., Any]) -> Signature:
    """The signature of a callable, or of the one to which it passes its arguments. ValueError without one."""
    try:
        found = signature(function)
    except ValueError:
        found = None
    if found and not any(parameter.kind in VARIADIC for parameter in found.parameters.values()):
        return found
    if isinstance(function, functools.partial):
        bare: Any = lambda: None  # noqa: E731 - carries the signature that partial() then binds
        bare.__signature__ = signature_of(function.func)
        return signature(functools.partial(bare, *function.args, **function.keywords))
    owner: Any = getattr(function, "__self__", None)
    if isinstance(function, MethodType) and callable(owner) and function.__func__ is type(owner).__call__:
        return signature_of(owner)
    for name in INNER:
        if callable(inner := getattr(function, name, None)):
            return signature_of(inner)
    if found is None:
        raise ValueError("it has no signature")
    return found


@dataclass(frozen=True)
class Built:
    """A built case. `names` are the family's inputs that `function` takes; `shapes` describe all inputs."""

    case: Case
    family: Family
    implementation: Implementation
    workload: Any
    shapes: Shapes
    function: Callable[..., Any]
    names: tuple[str, ...]

    def describe(self, static: Static) -> dict[str, Any]:
        """The description of a compiled case that its runner receives, as plain data."""
        implementation, expect = self.implementation, self.implementation.expect
        with nullcontext() if implementation.own else family_code(f"the cost of family {self.family.name}"):
            cost = self.family.cost_of(implementation.semantics, self.workload)
        facts = implementation.facts(self.workload, static, dict(self.case.options))
        return {
            "static": dataclasses.asdict(static),
            "cost": dataclasses.asdict(cost),
            "facts": {name: plain(value) for name, value in facts.items()},
            "expected": bool(expect and expect.when(self.workload)),
            "expectation": expect.reason if expect else None,
            "input_bytes": nbytes({name: self.shapes[name] for name in self.names}),
        }


def build(module: ModuleType, case: Case) -> Built:
    """Call the builder, without allocating anything of the workload's size. Unsupported if it refuses."""
    implementation = find(module, case.implementation)
    family = with_own_semantics(loading.family_of(implementation), [implementation])
    workload = family.workload(**dict(case.workload))
    if case.mode not in family.modes:
        raise Unsupported(f"family {family.name} has no mode {case.mode}; use {', '.join(family.modes)}")
    with family_code(f"the inputs of family {family.name}"):
        shapes = family.shapes_of(implementation.semantics, workload)
    function, names = build_callable(implementation, workload, dict(case.options), shapes)
    return Built(case, family, implementation, workload, shapes, function, names)


def build_callable(
    implementation: Implementation, workload: Any, options: Mapping[str, Any], shapes: Shapes
) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """(what the builder returns, the inputs that it names). Unsupported, with its line, where it has none."""
    function = implementation(workload, **options)
    try:
        return function, named_inputs(function, shapes)
    except Unsupported as refusal:
        place = f"{loading.file_of(implementation).name}:{loading.line_of(implementation)}"
        raise Unsupported(f"{place}: {refusal}") from None


def find(module: ModuleType, identity: str) -> Implementation:
    """The implementation `family/name` of a module; other families may have one of the same name."""
    family, name = identity.split("/", 1)
    for implementation in loading.implementations_in(module):
        if implementation.name == name and loading.family_of(implementation).name == family:
            return implementation
    raise Unsupported(f"{module.__name__} no longer registers {identity}; see seqsweep list")


def with_own_semantics(family: Family, implementations: Iterable[Implementation]) -> Family:
    """The family, with the semantics that the authors of its implementations add."""
    added = {
        implementation.semantics: _meaning(implementation.semantics, implementation.own, family)
        for implementation in implementations
        if implementation.own is not None and implementation.workload_type() is family.workload
    }
    return dataclasses.replace(family, semantics={**family.semantics, **added}) if added else family


def with_promise(family: Family, name: str, promise: Promise) -> Family:
    """The family with an author's promise as a semantics of this name."""
    gradient = contract_of(promise.gradient) if promise.gradient is not None else None
    own = OwnSemantics(contract_of(promise.result), promise.reference, name=name, gradient=gradient)
    return dataclasses.replace(family, semantics={**family.semantics, name: _meaning(name, own, family)})


def _meaning(name: str, own: OwnSemantics, family: Family) -> Semantics:
    """An author's own semantics, which may use the family's reference."""
    cost = own.cost or (lambda _: Cost())
    if callable(own.reference):
        return Semantics(name, own.reference, own.contract, own.gradient, own.framework, cost=cost)
    theirs = family.semantics[own.reference or family.first_semantics]
    return dataclasses.replace(theirs, name=name, contract=own.contract, gradient=own.gradient, cost=cost)
