"""A full TMPDIR ends the run: what was measured is kept, and no case is blamed for it."""

import pytest

from harness.core.errors import MachineError
from harness.run.runner import finished_keys, remaining_groups, run
from tests.run.fakes import Act, FakeExecutor, acting, at
from tests.run.plans import context, schedule

FULL = MachineError("/tmp/x (below TMPDIR) cannot take 64 KiB of arrays; free space there")


class Kept:
    def __init__(self):
        self.records = []

    def append(self, records):
        self.records += records


@pytest.mark.parametrize("verb", ["inputs", "reference"])
def test_a_reference_that_cannot_be_written_loses_its_group_alone(tmp_path, verb):
    planned, kept = schedule(), Kept()
    executor = FakeExecutor(reference=Act(verbs={verb: at(2, FULL)}))
    with pytest.raises(MachineError, match="below TMPDIR"):
        run(planned, context(executor, tmp_path), kept)
    assert [(record.seq, record.status) for record in kept.records] == [(1024, "ok"), (1024, "ok")]
    finished = finished_keys(kept.records)
    assert remaining_groups(planned, finished) == [(group, 0) for group in planned.groups[1:]]
    assert executor.living == []
    assert list(tmp_path.iterdir()) == []


def test_readings_are_kept_and_measured_again(tmp_path):
    planned, kept = schedule(), Kept()
    executor = FakeExecutor({"scatter": Act(seq={2048: acting("judged", FULL)})})
    with pytest.raises(MachineError, match="below TMPDIR"):
        run(planned, context(executor, tmp_path), kept)
    assert [(record.seq, record.status) for record in kept.records] == [
        (1024, "ok"), (1024, "ok"), (2048, "ok"), (2048, "ok")
    ]  # fmt: skip
    finished = finished_keys(kept.records)
    assert remaining_groups(planned, finished) == [(group, 0) for group in planned.groups[1:]]
