"""What functions of harness/core answer, and what they refuse, expression by expression."""

from dataclasses import dataclass, replace
from typing import Literal

from harness.core import (
    case,
    errors,
    paths,
    plain_data,
    record,
    shown_text,
    static_figures,
    units,
    workload,
    workload_files,
)
from harness.core.case import Case
from harness.core.workload import Field, axis, fields_of
from tests.core.test_record import EXAMPLE, FAILED, RECORD
from tests.goldens import assert_answers

MODULES = (case, errors, paths, plain_data, record, shown_text, static_figures, units)
MODULES += (workload, workload_files)
BUCKETS = "topk/two_stage[buckets=4096,keep=2]@batch=1,seq=16384:fwd:cpu"
SCATTER = "mask/scatter@batch=1,seq=16384:fwd:cpu"
LONGER = "mask/scatter@batch=1,seq=65536:fwd:cpu"


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


def end_of_refusal(function, text):
    try:
        return function(text)
    except ValueError as error:
        return str(error)[-60:]


KNOWN = {
    **{name: value for module in MODULES for name, value in vars(module).items()},
    "BUCKETS": BUCKETS,
    "SCATTER": SCATTER,
    "LONGER": LONGER,
    "IDS": (BUCKETS, SCATTER, LONGER),
    "RECORD": RECORD,
    "EXAMPLE": EXAMPLE,
    "FAILED": FAILED,
    "replace": replace,
    "CASE": Case.of(
        *("topk/two_stage", {"keep": 2, "buckets": 4096}),
        {"seq": 65536, "dtype": "f32", "recall": 0.95, "window": None, "causal": True},
    ),
    "FIELDS": {field.name: field for field in fields_of(Point)},
    "MANY": [f"name{n}" for n in range(40)],
    "ZEROS": dict.fromkeys(static_figures.STATIC_FIGURES, 0),
    "end_of_refusal": end_of_refusal,
    "table": lambda content: [tuple(entry) for entry in workload_files.parse_table("mine.csv", content)],
    "LENGTHS": Field("lengths", "str", False, "uniform", ("uniform", "single"), table=True),
    "CAPTURED": Field("data", "str", False, "iid", ("iid", "tied"), captured=True),
}


def test_answers_match_the_golden_file():
    assert_answers("answers_core.txt", KNOWN)
