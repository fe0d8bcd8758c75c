"""Where the time goes, and what remains."""

import pytest

from harness.run.group.group_context import GroupContext
from harness.run.group.group_run import GroupRun
from harness.run.overhead import RemainingTime, add_overheads, overhead
from tests.run.fakes import Act, FakeExecutor
from tests.run.plans import case, context, group, schedule

GROUPS = schedule().groups
ONE, OTHER = case("broadcast").id, case("scatter").id


def test_nothing_known_is_no_estimate():
    assert RemainingTime(GROUPS, {}).remaining() is None


def test_what_earlier_runs_took():
    known = {one.id: 2.0 for group in GROUPS for one in group.cases}
    estimate = RemainingTime(GROUPS, known)
    assert estimate.remaining() == pytest.approx(12.0)
    estimate.took(100.0)
    assert estimate.remaining() == pytest.approx(8.0)


def test_an_unknown_case_takes_as_long_as_its_neighbours():
    assert RemainingTime(GROUPS[:1], {ONE: 3.0}).remaining() == pytest.approx(6.0)


def test_an_unknown_group_takes_as_long_as_the_others():
    estimate = RemainingTime(GROUPS, {ONE: 3.0, OTHER: 3.0})
    assert estimate.remaining() == pytest.approx(18.0)
    estimate.took(12.0)
    assert estimate.remaining() == pytest.approx(2 * (12.0 + 6.0) / 2)


def test_the_groups_of_this_run_are_an_estimate_too():
    estimate = RemainingTime(GROUPS, {})
    estimate.took(5.0)
    assert estimate.remaining() == pytest.approx(10.0)
    estimate.took(7.0)
    estimate.took(6.0)
    assert estimate.remaining() == 0


def test_the_parts_of_the_overhead_are_the_whole(tmp_path):
    shared = context(FakeExecutor(), tmp_path)
    shared.spent.update(compile=2.0, contract=1.0, samples=4.0, startup=0.5, turns=-1e-9)
    shared.startups_s += [0.1, 0.3, 0.2]
    found = overhead(shared, 10.0)
    assert found["work_s"] == 7.0
    assert found["share"] == pytest.approx(0.7)
    assert found["other_s"] == pytest.approx(2.5)
    assert found["turns_s"] == 0.0
    assert found["startup_per_case_s"] == 0.2
    parts = [v for name, v in found.items() if name.endswith("_s") and name.split("_s")[0] in PARTS]
    assert sum(parts) == pytest.approx(found["wall_s"])


PARTS = {"compile", "contract", "samples", "startup", "turns", "other"}


def test_a_run_of_no_time_has_no_share(tmp_path):
    found = overhead(context(FakeExecutor(), tmp_path), 0.0)
    assert found["share"] is None
    assert found["startup_per_case_s"] is None


def test_two_sittings_add_up():
    before = {"wall_s": 10.0, "work_s": 6.0, "share": 0.6, "samples_s": 6.0, "startup_per_case_s": 0.2}
    now = {"wall_s": 30.0, "work_s": 4.0, "share": 0.1, "compile_s": 4.0, "startup_per_case_s": None}
    both = {"wall_s": 40.0, "work_s": 10.0, "share": 0.25, "samples_s": 6.0, "compile_s": 4.0}
    assert add_overheads(before, now) == {**both, "startup_per_case_s": 0.2}
    assert add_overheads({}, now) == now | {"share": pytest.approx(4 / 30)}


def test_a_group_takes_its_cases_and_its_judge(tmp_path):
    executor = FakeExecutor({"scatter": Act(seconds=0.2)})
    shared = context(executor, tmp_path)
    records = GroupRun(GroupContext(group(), shared)).run()
    assert sum(record.wall_s for record in records) <= executor.clock.now
    assert all(record.wall_s >= 0.5 for record in records)
