"""Implementations: the decorator that registers one, and its author's own semantics."""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.catalog.contract import Contract
from harness.core.declared import Declared, is_word
from harness.core.errors import UsageError
from harness.core.record import Cost
from harness.core.static_figures import Static
from harness.core.workload import Field, declared_field


@dataclass(frozen=True)
class OwnSemantics(Declared):
    """The semantics of an implementation that computes something other than its family's semantics.

    `reference(w, rows)` is a builder as in :class:`Semantics`, in numpy, torch or another `framework`. A name
    means the family's reference of that semantics, and None the family's first: the result is then an
    approximation of it, within `contract`. `gradient` is the contract of gradients; None if there is no
    backward. `cost(w)` is the least work. Without it there is none, because the family's is for other
    semantics.

    `name` is recorded (empty: the implementation's name). Implementations of one file that share a named
    object are compared as equivalent. UsageError for fields of another type.
    """

    contract: Contract
    reference: Callable[[Any, Any], Callable[..., Any]] | str | None = None
    name: str = ""
    framework: str = "numpy"
    gradient: Contract | None = None
    cost: Callable[[Any], Cost] | None = None


Value = float | int | str | None
Facts = Callable[[Any, Static, Mapping[str, Any]], Mapping[str, Value]]
Failures = Callable[[Any, Mapping[str, Any]], Mapping[str, str]]


@dataclass(frozen=True)
class Expectation:
    """An expected failure of the contract: its reason, and a predicate for the workloads that fail."""

    reason: str
    when: Callable[[Any], bool]


@dataclass(frozen=True)
class Implementation:
    """A registered builder. Calling it with a workload and options gives the timed callable.

    `semantics` is the name of one of the family's semantics, or of the author's (`own`).
    """

    name: str
    framework: str
    semantics: str
    own: OwnSemantics | None
    builder: Callable[..., Callable[..., Any]]
    options: tuple[Field, ...]
    expect: Expectation | None
    fails: Failures
    facts: Facts

    def __call__(self, workload: Any, **options: Any) -> Callable[..., Any]:
        return self.builder(workload, **options)

    def workload_type(self) -> type:
        """The workload class in the annotation of the builder's first parameter; it determines the family."""
        first = next(iter(inspect.signature(self.builder).parameters), None)
        annotation = typing.get_type_hints(self.builder).get(first or "")
        if not isinstance(annotation, type):
            raise UsageError(
                f"{self.name}: annotate the builder's first parameter with its family's workload, "
                "for example (w: MaskWorkload)"
            )
        return annotation


def implementation(
    *,
    framework: str,
    semantics: str | Contract | OwnSemantics,
    name: str | None = None,
    expect: Mapping[str, Any] | None = None,
    fails: Failures = lambda _w, _options: {},
    facts: Facts = lambda _w, _static, _options: {},
) -> Callable[[Callable[..., Callable[..., Any]]], Implementation]:
    """Register the decorated builder under its own name (or `name`) in its workload's family.

    The builder runs once, untimed. The callable that it returns is timed and receives the family's inputs by
    name. Keyword-only parameters of the builder are options. `framework` is a built-in one, or one that an
    installed package registers. `semantics` is the name of one of the family's, or its author's own: only a
    contract (`within(rel_rms=0.02)`) for an approximation of the family's first semantics, or
    :class:`OwnSemantics`. `expect={"incorrect": why, "when": predicate}` declares that its contract fails if
    the predicate is true. `fails(w, options)` maps the family's checks that it is known to fail to reasons.
    `facts(w, static, options)` returns further facts of a case by name, which are recorded and printed below
    the table.
    """
    own = _own(semantics)

    def register(builder: Callable[..., Callable[..., Any]]) -> Implementation:
        identity = builder.__name__ if name is None else name
        if not is_word(identity):
            raise UsageError(
                f'"{identity}" is not a valid name for an implementation; use letters, digits and _'
            )
        _refuse_second(builder)
        return Implementation(
            name=identity,
            framework=framework,
            semantics=semantics if isinstance(semantics, str) else (own and own.name) or identity,
            own=own,
            builder=builder,
            options=_options(builder),
            expect=_expectation(expect),
            fails=fails,
            facts=facts,
        )

    return register


def _refuse_second(builder: Callable[..., Any]) -> None:
    """UsageError if another implementation of the module has the builder's name."""
    earlier = getattr(builder, "__globals__", {}).get(builder.__qualname__)
    if isinstance(earlier, Implementation):
        raise UsageError(f"{earlier.name} is registered twice; rename one")


def _own(semantics: object) -> OwnSemantics | None:
    if isinstance(semantics, str):
        return None
    own = OwnSemantics(semantics) if isinstance(semantics, Contract) else semantics
    if not isinstance(own, OwnSemantics):
        raise UsageError(
            f"semantics={semantics!r}: use the name of one of the family's, a contract such as "
            "within(rel_rms=0.02), or OwnSemantics(contract, reference)"
        )
    if own.name and not is_word(own.name):
        raise UsageError(f'"{own.name}" is not a valid name for a semantics; use letters, digits and _')
    return own


def _expectation(expect: Mapping[str, Any] | None) -> Expectation | None:
    if expect is None:
        return None
    unknown = set(expect) - {"incorrect", "when"}
    if unknown or not expect.get("incorrect"):
        raise UsageError('write expect={"incorrect": "why", "when": predicate}; "when" is optional')
    return Expectation(str(expect["incorrect"]), expect.get("when") or (lambda _: True))


def _options(builder: Callable[..., Any]) -> tuple[Field, ...]:
    hints = typing.get_type_hints(builder) if hasattr(builder, "__annotations__") else {}
    fields = []
    for parameter in list(inspect.signature(builder).parameters.values())[1:]:
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            raise UsageError(
                f'the builder\'s parameter "{parameter.name}" is not keyword-only, so it is not '
                "an option; put a * before it"
            )
        required = parameter.default is inspect.Parameter.empty
        annotation = hints.get(parameter.name, int if required else type(parameter.default))
        default = dataclasses.MISSING if required else parameter.default
        fields.append(declared_field(parameter.name, annotation, default, minimum=0))
    return tuple(fields)
