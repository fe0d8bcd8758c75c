"""A malformed reply ends only the case that it is about."""

import math
from typing import Any

import pytest

from tests.run.fakes import Act, FakeExecutor
from tests.run.plans import group, measure, reason, timing

THREE = ("broadcast", "scatter", "threshold")
ODD: list[tuple[str, Any, str]] = [
    ("prepare", "haha", "Expected `object`, got `str`"),
    ("prepare", {"static": {}}, "argument_bytes is missing without a reason - at `$.static`"),
    ("prepare", {"cost": {"flops": -1}}, "a cost of -1 is not a number ≥ 0 - at `$.cost`"),
    ("prepare", {"cost": {"flops": math.nan}}, "a figure is nan"),
    ("prepare", {"facts": {"window": "\ud800"}}, "surrogates not allowed"),
    ("prepare", {"input_bytes": 1 << 70}, "more than 63 bits"),
    ("check", "haha", "Expected `object`, got `str`"),
    ("check", {"seconds": math.nan}, "a figure is nan"),
    ("check", {"high_water_bytes": 0.5}, "got `float` - at `$.high_water_bytes`"),
    ("ready", {"method": "sundial"}, "'sundial' - at `$.method`"),
    ("sample", 3, "Expected `object`, got `int`"),
    ("sample", {"samples_s": []}, "length >= 1 - at `$.samples_s`"),
    ("sample", {"samples_s": [1e-3, "fast", 1e-3]}, "got `str` - at `$.samples_s[1]`"),
    ("sample", {"samples_s": [math.nan]}, "a figure is nan"),
    ("sample", {"samples_s": [0.0]}, "`float` > 0.0 - at `$.samples_s[0]`"),
]


@pytest.mark.parametrize(("verb", "answer", "says"), ODD)
def test_malformed_reply_ends_only_its_case(tmp_path, verb, answer, says):
    executor = FakeExecutor({"scatter": Act(verbs={verb: lambda _: answer})})
    records = measure(executor, tmp_path, group(THREE))
    assert records["scatter"].status == "crashed"
    assert reason(records["scatter"]).startswith(f'it replied to "{verb}" in an invalid form (')
    assert says in reason(records["scatter"])
    assert records["scatter"].timing is None
    for innocent in ("broadcast", "threshold"):
        assert records[innocent].status == "ok"
        assert timing(records[innocent]).stopped == "interval"
    assert executor.living == []


@pytest.mark.parametrize(
    "answer", ["haha", {"correctness": None}, {"correctness": {}}, {"reason": None}, {"changed": 0}]
)
def test_malformed_contract_result_ends_only_its_case(tmp_path, answer):
    def judge(arguments):
        return answer if executor.results[arguments["result"]].startswith("scatter") else {}

    executor = FakeExecutor(reference=Act(verbs={"judge": judge}))
    records = measure(executor, tmp_path)
    assert records["scatter"].status == "crashed"
    assert reason(records["scatter"]).startswith(
        'the check of its result cannot be computed: it replied to "judge" in an invalid form'
    )
    assert records["broadcast"].status == "ok"


@pytest.mark.parametrize(("verb", "answer"), [("inputs", [1]), ("reference", "dear")])
def test_malformed_reference_reply_crashes_every_case(tmp_path, verb, answer):
    records = measure(FakeExecutor(reference=Act(verbs={verb: answer})), tmp_path)
    assert {record.status for record in records.values()} == {"crashed"}
    assert all(f'it replied to "{verb}" in an invalid form' in reason(record) for record in records.values())
