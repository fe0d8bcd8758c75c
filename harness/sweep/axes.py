"""The grid of a suite: lists of workload values, and their product."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

from harness.catalog.catalog import FamilyInfo
from harness.core.errors import UsageError
from harness.core.units import format_count, parse_count
from harness.core.workload import LARGEST, Field, Value, canonical, shown_fields
from harness.sweep.yaml.nodes import Scalar, at

MOST_CASES = 100_000  # of a suite: weeks of measuring, and more than a mistyped axis may ask for


def parse(field: Field, raw: Scalar) -> Value:
    """Parse a workload field or an option; an error names its place."""
    with at(raw.where):
        return field.parse(raw.value if raw.value is None or field.kind == "bool" else raw.text)


def axis(field: Field, values: Sequence[Scalar]) -> list[Value]:
    """The values of one axis in the order written; a duplicate is refused, as a mistake easily overlooked."""
    parsed: dict[Value, None] = {}
    for raw in values:
        for value in expand(field, raw):
            if value in parsed:
                raise UsageError(f"{raw.where}: {field.name} lists {canonical(value)} twice; name it once")
            parsed[value] = None
    return list(parsed)


def expand(field: Field, raw: Scalar) -> list[Value]:
    """The value that is written, or those that `4Ki..64Ki` stands for: each twice the one before."""
    first, dots, last = raw.text.partition("..")
    if not dots or field.kind != "int":
        return [parse(field, raw)]
    with at(raw.where):
        low, high = parse_count(first), parse_count(last)
        if high > LARGEST:
            raise ValueError(f"{field.name} is too large: {last}")
        if not 0 < low <= high:
            raise ValueError(f'"{raw.text}" is empty; write the smaller number first')
        doublings = (high // low).bit_length() - 1
        if low << doublings != high:
            before, after = (format_count(low << count) for count in (doublings, doublings + 1))
            raise ValueError(f'"{raw.text}" doubles from {first} past its end; write {before} or {after}')
    return [parse(field, Scalar.given(raw.where, str(low << count))) for count in range(doublings + 1)]


def refuse_too_many(where: str, counts: Mapping[str, int], what: str) -> None:
    """UsageError where axes of so many values make more than MOST_CASES; it names their product."""
    total = math.prod(counts.values())
    if total > MOST_CASES:
        factors = " × ".join(f"{name} {count}" for name, count in counts.items() if count > 1)
        raise UsageError(
            f"{where}: {what} {total} cases ({factors}), and at most {MOST_CASES} are planned; "
            "shorten an axis, or split the suite"
        )


def missing_fields(family: FamilyInfo, given: Collection[str]) -> list[str]:
    """The fields that have neither a value nor a default."""
    return [field.name for field in family.fields if field.required and field.name not in given]


def complete(family: FamilyInfo, given: Mapping[str, list[Value]]) -> dict[str, list[Value]]:
    """Every field of the family with its values, in the family's order; lengths ascend."""
    full = {field.name: given.get(field.name, [field.default]) for field in family.fields}
    full["seq"] = sorted(full["seq"], key=lambda value: int(value or 0))
    return full


def points(family: FamilyInfo, axes: Mapping[str, list[Value]]) -> list[dict[str, Value]]:
    """The product of complete axes, as the workloads that case ids show; the length varies fastest."""
    names = [name for name in axes if name != "seq"] + ["seq"]
    return [
        shown_fields(family.fields, dict(zip(names, values, strict=True)))
        for values in itertools.product(*(axes[name] for name in names))
    ]
