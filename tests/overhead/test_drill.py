"""The overhead drill: real loops of two frameworks, and the documented differences to plain loops."""

from pathlib import Path

import pytest

from harness.run.processes.fork_client import ENVIRONMENT
from harness.sweep.project import Project
from tests.overhead import drill

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reading.md"


def test_every_environment_variable_of_a_worker_is_documented():
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in ENVIRONMENT if name not in page] == []


@pytest.mark.parametrize("name", ["mask/torch_scatter", "topk/partition"])
def test_a_plain_loop_takes_time(name):
    project = Project()
    plan = project.plan(["mask_forms" if name.startswith("mask") else "topk"])
    case = next(case for suite in plan.suites for case in suite.cases if case.implementation == name)
    assert 0 < drill.loop_seconds(case, project, 1, 0) < 60
