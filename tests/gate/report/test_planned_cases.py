"""What a gate says that it would measure."""

import pytest

from harness.gate.report.planned_cases import plan_lines
from harness.sweep.settings import Settings

DATA = {
    "base": "git:3d602ab (HEAD~1)", "missing": "", "measured": ["m/a@seq=1:fwd:cpu"],
    "same_code": ["m/b@seq=1:fwd:cpu"], "new": {"m/c@seq=1:fwd:cpu": "not registered in the base"},
    "vanished": [], "left_out": {}, "seconds_at_most": 300.0, "pairs_at_most": 12,
    "settings": {"m": Settings(budget_s=2.0, memory_bytes=2**30, threads=1)}, "deltas": {"m": 0.05},
}  # fmt: skip


def test_every_kind_has_its_heading_and_its_cases():
    lines = plan_lines(DATA)
    assert lines[0] == "the working tree against git:3d602ab (HEAD~1)"
    assert lines[2:4] == ["measured: 1", "  m/a@seq=1:fwd:cpu"]
    assert "same code on both sides, not measured (--all measures them): 1" in lines
    assert not any("vanished" in line for line in lines)
    assert lines[-2].startswith(
        "m: Δ 5 %, budget 2.00 s, timeout 60.0 s, memory 1.00 GiB, threads 1, precision"
    )
    assert lines[-1] == "at most 300 s (--budget) and 12 pairs of processes (--max-pairs)"


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({"measured": []}, "nothing would be measured"),
        ({"seconds_at_most": None}, "no clock: the time is that of compiling both sides once"),
    ],
)
def test_the_last_line_is_the_time(changes, end):
    assert plan_lines({**DATA, **changes})[-1] == end
