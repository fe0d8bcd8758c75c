"""What a claim's expressions ask to be compiled, costed or judged: real cases of the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.catalog import accelerators
from harness.catalog.catalog import Catalog
from harness.spec.case import Case
from harness.spec.claim import (
    ANALYTIC,
    ARGUMENTS,
    COMPILED,
    DEVICE,
    IDENTITY,
    JUDGED,
    TABLE,
    Claim,
    Figure,
    Need,
)
from harness.spec.errors import UsageError, nearest
from harness.spec.expression import MATHS, Called, Expression, Value, parse
from harness.spec.workload import Value as Field
from harness.spec.workload import shown
from harness.sweep.axes import missing
from harness.sweep.axes import parse as parse_field
from harness.sweep.nodes import Scalar, at
from harness.sweep.variants import from_label, variant

MODE = "mode"


def needs(claim: Claim, catalog: Catalog) -> tuple[Need, ...]:
    """Everything that the figures of a claim ask for, each once.

    UsageError, with the figure's place, for names, functions, implementations, targets and fields that
    do not exist.
    """
    found: dict[Need, None] = {}
    for figure in claim.figures:
        with at(figure.where):
            for expression in figure.expressions():
                for one in _of(expression, claim, figure, catalog):
                    found[one] = None
    return tuple(found)


def _of(expression: Expression, claim: Claim, figure: Figure, catalog: Catalog) -> Iterator[Need]:
    _refuse_unknown(expression, claim, per_row=figure.each)
    for _, names in claim.points(figure):
        if not expression.names() <= names.keys():
            continue  # a row that holds no number there
        for called in expression.calls(names):
            yield from _called(called, claim, catalog)


def _called(called: Called, claim: Claim, catalog: Catalog) -> Iterator[Need]:
    wanted = ARGUMENTS[called.name]
    if len(called.arguments) != len(wanted) or not all(isinstance(a, str) for a in called.arguments):
        raise ValueError(f"{called.name}({', '.join(wanted)}) takes {len(wanted)} quoted arguments")
    if called.name in DEVICE:
        refuse_target(str(called.arguments[0]))
    elif called.name in TABLE:
        yield from _in_table(called, claim, catalog)
    else:
        yield need(called, claim, catalog)


def _in_table(called: Called, claim: Claim, catalog: Catalog) -> Iterator[Need]:
    if claim.table is None:
        raise ValueError(f"{called.name}(…) reads a table, and this claim has none")
    every_row = Figure(called.name, "", each=True)
    for text in called.arguments:
        yield from _of(parse(str(text)), claim, every_row, catalog)


def _refuse_unknown(expression: Expression, claim: Claim, *, per_row: bool) -> None:
    for name in sorted(expression.functions() - ARGUMENTS.keys()):
        raise ValueError(f'unknown function "{name}"{nearest(name, {*ARGUMENTS, *MATHS})}')
    columns = claim.table.columns if claim.table and per_row else ()
    known = {*claim.names(), *columns}
    for name in sorted(expression.names() - known):
        if claim.table and name in claim.table.columns:
            raise ValueError(f"{name} is a column; add each: true")
        if name in claim.shape:
            raise ValueError(f"{name} has no value; write it under shape")
        raise ValueError(f'unknown name "{name}"{nearest(name, known)}')


def need(called: Called, claim: Claim, catalog: Catalog) -> Need:
    """What one call asks for. UsageError or ValueError for what does not exist."""
    label = str(called.arguments[0])
    if called.name == JUDGED:
        return Need(Need.JUDGE, _case(label, called.keywords, claim, catalog))
    if called.name in ANALYTIC:
        return Need(Need.COST, _case(label, called.keywords, claim, catalog))
    if called.name not in {*COMPILED, *IDENTITY}:
        raise ValueError(f"{called.name}(…) asks for nothing that is compiled")
    name = str(called.arguments[1])
    refuse_target(name)
    return Need(Need.COMPILE, _case(label, called.keywords, claim, catalog), name)


def refuse_target(name: str) -> None:
    """UsageError for a target that nothing is known of."""
    accelerators.target(name)


def _case(label: str, keywords: Mapping[str, Value], claim: Claim, catalog: Catalog) -> Case:
    family = catalog.family(claim.family)
    info, spelt = from_label(catalog, family.name, Scalar.given(f'"{label}"', label))
    chosen = variant(info, {option: values[0] for option, values in spelt.items()})
    mode = str(keywords.get(MODE, family.modes[0]))
    if mode not in family.modes:
        raise ValueError(f'unknown mode "{mode}" of family {family.name}{nearest(mode, family.modes)}')
    shape: dict[str, Field] = {name: claim.shape[name] for name in claim.shape}
    for name, value in keywords.items():
        if name != MODE:
            field = family.field(name)
            text = str(value).lower() if isinstance(value, bool) else str(value)
            shape[name] = parse_field(field, Scalar(name, text, value if isinstance(value, bool) else text))
    absent = [name for name in missing(family, shape) if shape.get(name) is None]
    if absent:
        raise UsageError(f"{label} has no {' and '.join(absent)}; write it under shape")
    return Case.of(info.id, dict(chosen.options), shown(family.fields, shape), mode)
