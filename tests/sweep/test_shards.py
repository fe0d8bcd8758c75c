"""The shards of a sweep."""

import pytest

from harness.core.errors import UsageError
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project


@pytest.fixture(scope="module")
def project():
    return Project()


@pytest.fixture(scope="module")
def part(project):
    """The part of the default sweep, or of a suite, that a text names."""

    def plan(text, suites=(), **overrides):
        return project.plan(suites, Overrides(shard=text, **overrides))

    return plan


@pytest.mark.parametrize(("count", "suites"), [(1, ()), (3, ()), (3, ("mask",))])
def test_the_shards_are_the_sweep(project, part, count, suites):
    schedule = project.plan(suites)
    shards = [part(f"{index}/{count}", suites) for index in range(1, count + 1)]
    groups = [group for shard in shards for group in shard.groups]
    assert sorted(group.key for group in groups) == sorted(group.key for group in schedule.groups)
    assert all(group in schedule.groups for group in groups), "whole groups, with their baselines"
    cases = [case.id for shard in shards for suite in shard.suites for case in suite.cases]
    assert sorted(cases) == sorted(case.id for suite in schedule.suites for case in suite.cases)
    assert sorted(skip.case.id for shard in shards for skip in shard.skips) == sorted(
        skip.case.id for skip in schedule.skips
    )


def test_shards_have_the_same_sweep_hash_on_every_machine(part):
    sweep = part("2/3").shard.sweep
    assert part("1/3").shard.sweep == sweep
    assert part("2/3", settings={"threads": "1", "memory": "1GiB"}).shard.sweep == sweep
    assert part("2/3", settings={"budget": "9s"}).shard.sweep != sweep
    assert part("2/3", seqs=("4Ki",)).shard.sweep != sweep


def test_no_part_has_more_than_one_group_above_another(part):
    sizes = [len({case.group for suite in part(f"{i}/3").suites for case in suite.cases}) for i in (1, 2, 3)]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "3/", "a/b", "-1/8", "1/8/8", ""])
def test_invalid_shards_are_refused(part, text):
    with pytest.raises(UsageError, match="is not a shard"):
        part(text)
    with pytest.raises(UsageError, match=r"this sweep has \d+ groups; use at most"):
        part("1/999999")
