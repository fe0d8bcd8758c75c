"""All about one family: its workload, inputs, contracts, options and checks, as rich draws it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group
from rich.text import Text

from harness.catalog.catalog import FamilyInfo, ImplementationInfo
from harness.core.workload import Field, canonical
from harness.report.tables.listing import implementations_table, plain_table


def family_page(
    family: FamilyInfo,
    implementations: Sequence[ImplementationInfo],
    semantics: Sequence[Mapping[str, Any]],
    reason: str = "",
    *,
    contracts: bool = False,
) -> Group:
    """A section each. `semantics` are as :mod:`harness.catalog.family_questions` has them.

    `reason` says why there are none. With `contracts` also their contracts and inputs, and whole sentences.
    """
    options = [(f"{info.name} {o.name}", o) for info in implementations for o in info.options]
    details = [Text(reason), Text("")] if reason else []
    if contracts and not reason:
        details = [*_contracts_section(semantics), Text("")]
    return Group(
        Text(f"{family.name}: {family.question}", style="bold"),
        Text(f"modes: {', '.join(family.modes)}; declared in {family.file}\n", style="dim"),
        _fields_section("workload field", [(field.name, field) for field in family.fields]),
        _section(("semantics", "what it means"), [(s["name"], s["sentence"]) for s in semantics]),
        *details,
        implementations_table(implementations, one_line=not contracts),
        Text(""),
        _fields_section("option", options),
        _section(("check", "objection that it answers"), family.checks.items()),
    )


def _contracts_section(semantics: Sequence[Mapping[str, Any]]) -> tuple[Group, Text]:
    """The contracts of results and gradients by semantics with the result's layout, and the inputs."""
    held = [(s["name"], s["contract"], s["gradient"] or "no backward", s["layout"]) for s in semantics]
    table = _section(("semantics", "contract", "gradient's", "result's axes"), held)
    return table, Text("\n".join(_array_lines(semantics)))


def _section(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Group:
    """A table and a blank line; nothing at all without rows."""
    table = plain_table(*titles)
    for row in rows:
        table.add_row(*map(Text, row))
    return Group(table, Text("")) if table.row_count else Group()


def _fields_section(title: str, fields: Iterable[tuple[str, Field]]) -> Group:
    rows = [
        (
            name,
            field.kind,
            "must be given" if field.required else canonical(field.default),
            _domain(field),
        )
        for name, field in fields
    ]
    return _section((title, "type", "default", "allowed"), rows)


def _domain(field: Field) -> str:
    """The values that a field may have, in words."""
    usual = {
        "int": f"≥ {field.minimum}",
        "float": "any finite number",
        "bool": "true, false",
        "str": "any text",
    }
    file = ", FILE.csv" if field.table else ""
    file += ", FILE.npz, FILE.safetensors" if field.captured else ""
    return (", ".join(field.choices) or usual[field.kind]) + file + (", or none" if field.optional else "")


def _array_lines(semantics: Sequence[Mapping[str, Any]]) -> list[str]:
    """The inputs at each point, with the semantics that are defined there."""
    defined: dict[str, list[str]] = {}
    for entry in semantics:
        if entry["point"] is None:
            inputs = f"are not known: {entry['reason']}"
        else:
            at = ", ".join(f"{name}={canonical(value)}" for name, value in entry["point"].items())
            inputs = f"at {at}: {_arrays(entry['inputs'])}"
        defined.setdefault(inputs, []).append(entry["name"])
    return [f"inputs of {', '.join(names)} {inputs}" for inputs, names in defined.items()]


def _arrays(arrays: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"{array['name']} {array['dtype']} {list(array['shape'])}" for array in arrays)
