"""Where the time goes, and what remains."""

import pytest

from harness.run.overhead import RemainingTime, add_overheads, overhead
from tests.run.fakes import FakeExecutor
from tests.run.plans import case, context, schedule

GROUPS = schedule().groups
ONE, OTHER = case("broadcast").id, case("scatter").id


@pytest.mark.parametrize(
    ("known", "taken", "remaining"),
    [
        ({}, [], None),
        ({one.id: 2.0 for group in GROUPS for one in group.cases}, [], 12.0),
        ({one.id: 2.0 for group in GROUPS for one in group.cases}, [100.0], 8.0),
        ({ONE: 3.0}, [], 18.0),  # an unknown case takes as long as its neighbours
        ({ONE: 3.0, OTHER: 3.0}, [], 18.0),  # and an unknown group as the others
        ({ONE: 3.0, OTHER: 3.0}, [12.0], 2 * (12.0 + 6.0) / 2),
        ({}, [5.0], 10.0),  # the groups of this run are an estimate, too
        ({}, [5.0, 7.0, 6.0], 0.0),
    ],
)
def test_what_remains_follows_from_what_is_known_and_what_groups_took(known, taken, remaining):
    estimate = RemainingTime(GROUPS, known)
    for seconds in taken:
        estimate.took(seconds)
    assert estimate.remaining() == (None if remaining is None else pytest.approx(remaining))


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


def test_two_sittings_add_up():
    before = {"wall_s": 10.0, "work_s": 6.0, "share": 0.6, "samples_s": 6.0, "startup_per_case_s": 0.2}
    now = {"wall_s": 30.0, "work_s": 4.0, "share": 0.1, "compile_s": 4.0, "startup_per_case_s": None}
    both = {"wall_s": 40.0, "work_s": 10.0, "share": 0.25, "samples_s": 6.0, "compile_s": 4.0}
    assert add_overheads(before, now) == {**both, "startup_per_case_s": 0.2}
    assert add_overheads({}, now) == now | {"share": pytest.approx(4 / 30)}
