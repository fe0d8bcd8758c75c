"""A gate's options: what they refuse, and the thread that they add."""

from dataclasses import replace

import pytest

from harness.core.errors import UsageError
from harness.gate.options import GateOptions, parse_budget
from harness.gate.planning import limit_threads
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"inconclusive": "maybe"}, "--inconclusive maybe: write warn or fail"),
        ({"max_pairs": 3}, "--max-pairs 3: no verdict stands on fewer than 4 pairs"),
    ],
)
def test_what_no_gate_can_decide_with_is_refused(typed, says):
    with pytest.raises(UsageError, match=says):
        GateOptions(**typed)
    with pytest.raises(UsageError, match=says):
        replace(GateOptions(), **typed)


def test_a_budget_is_some_time():
    assert parse_budget("2min") == 120.0
    for text in ("0", "-1s", "soon"):
        with pytest.raises(UsageError, match="--budget"):
            parse_budget(text)


FAMILY = "{family: mask, seq: 256"


@pytest.mark.parametrize(
    ("defaults", "suite", "suites", "typed", "threads"),
    [
        ("{}", "}", (), {}, "1"), ("{}", "}", ("one",), {}, "1"), ("{threads: 2}", "}", (), {}, None),
        ("{}", ", threads: 2}", (), {}, None), ("{}", ", threads: 2}", ("other",), {}, "1"),
        ("{}", "}", (), {"threads": "3"}, "3"), ("{}", "}", ("nosuch",), {}, "1"),
    ],
)  # fmt: skip
def test_one_thread_unless_somebody_says_otherwise(tmp_path, defaults, suite, suites, typed, threads):
    bench = tmp_path / "bench.yaml"
    both = f"suites:\n  one: {FAMILY}{suite}\n  other: {FAMILY}}}\n"
    bench.write_text(f"default: [one]\ndefaults: {defaults}\n{both}")
    options = GateOptions(suites=suites, overrides=Overrides(settings={"seed": "1", **typed}))
    limited = limit_threads(options, Project(bench)).overrides.settings
    assert limited.get("threads") == threads
    assert limited["seed"] == "1"
