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
        ({"update": True, "static": True, "self_check": True}, "--update and --self-check ask for two"),
        ({"update": True, "static": True, "against": "git:x"}, "--update and --against ask for two things"),
        ({"update": True, "static": True, "last": True}, "--update and --last ask for two things"),
        ({"static": True, "self_check": True}, "--static and --self-check ask for two things"),
        ({"static": True, "resume": True}, "--static and --resume ask for two things"),
        ({"self_check": True, "against": "git:x"}, "--self-check and --against ask for two things"),
        ({"last": True, "resume": True}, "--last and --resume ask for two things"),
        ({"update": True}, "say --static too"),
        ({"static": True, "explain": "x"}, "--explain is about times"),
        ({"inconclusive": "maybe"}, "--inconclusive maybe: write warn or fail"),
        ({"max_pairs": 3}, "--max-pairs 3: no verdict stands on fewer than 4 pairs"),
    ],
)
def test_they_cannot_contradict_each_other(typed, says):
    with pytest.raises(UsageError, match=says):
        GateOptions(**typed)
    with pytest.raises(UsageError, match=says):
        replace(GateOptions(), **typed)


STATIC = {"static": True}


@pytest.mark.parametrize("more", [{"update": True}, {"against": "git:x"}, {"last": True}])
def test_the_rest_goes_together(more):
    assert GateOptions(**STATIC, **more)
    assert GateOptions()
    assert GateOptions(self_check=True, resume=True, explain="x")


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
