from dataclasses import dataclass
from typing import Literal

import pytest

from harness.core.errors import UsageError, nearest
from harness.core.workload import Field, axis, canonical, fields_of, kind_of, shown_fields


@dataclass(frozen=True)
class Point:
    seq: int = axis()
    topk: int = axis(2048)
    recall: float = axis(0.95)
    causal: bool = axis(True)
    window: int | None = axis(None, minimum=0)
    dtype: str = axis("f32", choices=("f32", "bf16"))
    order: Literal["up", "down"] = "up"
    tile: int = axis(256, later=True)


FIELDS = {field.name: field for field in fields_of(Point)}


def test_a_dataclass_describes_its_axes():
    assert list(FIELDS) == ["seq", "topk", "recall", "causal", "window", "dtype", "order", "tile"]
    assert FIELDS["seq"] == Field("seq", "int", required=True)
    assert FIELDS["window"] == Field("window", "int", required=False, minimum=0, optional=True)
    assert FIELDS["dtype"].choices == ("f32", "bf16")
    assert (FIELDS["order"].choices, FIELDS["order"].default) == (("up", "down"), "up")
    assert FIELDS["tile"].later


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("seq", "128Ki", 131072), ("seq", 4096.0, 4096), ("recall", "1", 1.0), ("causal", "False", False),
        ("causal", True, True), ("window", "none", None), ("window", None, None), ("window", 0, 0),
        ("dtype", "bf16", "bf16"),
    ],
)  # fmt: skip
def test_raw_values_become_values(name, raw, value):
    parsed = FIELDS[name].parse(raw)
    assert parsed == value
    assert type(parsed) is type(value)


def test_values_have_one_spelling():
    spelled = [canonical(value) for value in (131072, 0.95, 1.0, 1e-7, True, False, None, "f32")]
    assert spelled == ["131072", "0.95", "1.0", "1e-07", "true", "false", "none", "f32"]


def test_a_later_field_shows_only_when_it_differs():
    values = {"seq": 8, "tile": 256, "dtype": "f32"}
    fields = tuple(FIELDS.values())
    assert shown_fields(fields, values) == {"dtype": "f32", "seq": 8}
    assert shown_fields(fields, {**values, "tile": 128}) == {"dtype": "f32", "seq": 8, "tile": 128}


def test_a_type_that_cannot_be_swept_is_refused():
    with pytest.raises(UsageError, match="cannot be swept"):
        kind_of(list[int])


def test_the_nearest_word_or_all_of_them():
    assert nearest("scater", ["scatter", "broadcast"]) == '; nearest: "scatter"'
    assert nearest("xyz", ["b", "a"]) == "; known: a, b"
    assert nearest("xyz", []) == ""
    many = [f"name{n}" for n in range(40)]
    assert nearest("xyz", many, "seqsweep list") == "; seqsweep list names the 40 that are known"
    assert nearest("nam7", many, "seqsweep list") == '; nearest: "name7"'
