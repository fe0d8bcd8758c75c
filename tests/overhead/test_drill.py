"""The overhead drill: one real loop of two frameworks, and the list of differences to plain loops."""

import pytest

from harness.run.doctor import DIFFERENCES
from harness.run.processes.fork_client import ENVIRONMENT
from harness.sweep.project import Project
from tests.overhead import drill


def test_every_variable_that_a_worker_sets_is_listed():
    listed = " ".join(DIFFERENCES)
    assert all(name in listed for name in ENVIRONMENT)


@pytest.mark.parametrize("name", ["mask/torch_scatter", "topk/partition"])
def test_a_loop_of_every_framework_takes_time(name):
    project = Project()
    plan = project.plan(["mask_forms" if name.startswith("mask") else "topk"])
    case = next(case for suite in plan.suites for case in suite.cases if case.implementation == name)
    assert 0 < drill.loop_seconds(case, project, 1, 0) < 60
