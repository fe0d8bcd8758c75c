"""Frameworks that are not installed: what is left out of a plan, and what is refused."""

from functools import cache

import pytest

from harness.catalog import discovery
from harness.core.errors import UsageError
from harness.core.version import version_of
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from harness.sweep.schedule import plan

CATALOG = cache(discovery.catalog)
BENCH = """\
default: [topk, attention]
suites:
  topk: {family: topk, seq: [512], baseline: exact, impls: [exact, torch_topk, partition]}
  attention: {family: attention, seq: [256], baseline: dense, impls: [dense, dense_jax]}
"""


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """A function that plans without some packages."""
    (tmp_path / "bench.yaml").write_text(BENCH)
    config = Project(tmp_path / "bench.yaml").config

    def plan_without(*packages, names=(), installed=True, **flags):
        monkeypatch.setattr(
            "harness.sweep.select.version_of",
            lambda name: None if name in packages else version_of(name),
        )
        return plan(config, CATALOG(), names, Overrides(**flags), installed=installed)

    return plan_without


def labels(schedule):
    return {suite.name: (suite.baseline, *suite.implementations) for suite in schedule.suites}


def test_with_everything_nothing_is_left_out(planned):
    assert planned().left_out == ()
    assert len(planned("torch", "jax", installed=False).cases) == 5


def test_a_suite_goes_on_with_another_baseline(planned):
    schedule = planned("jax", names=["topk"])
    assert labels(schedule) == {"topk": ("topk/torch_topk", "topk/torch_topk", "topk/partition")}
    assert schedule.left_out == (
        "implementations that need jax, which is not installed: 1; pip install 'seqsweep[jax]'",
    )


def test_a_reference_needs_its_framework_too(planned):
    schedule = planned("torch")
    assert labels(schedule) == {"topk": ("topk/exact", "topk/exact", "topk/partition")}
    (said,) = schedule.left_out
    assert said == (
        "implementations that need torch, which is not installed: 3, 1 of them for a reference; "
        "pip install 'seqsweep[torch]'"
    )
    with pytest.raises(UsageError, match=r"^attention/dense_jax needs torch for its reference, which is not"):
        planned("torch", impls=("dense_jax",))


def test_what_is_only_compiled_needs_no_reference(planned):
    schedule = planned("torch", names=["attention"], compiled_only=True)
    assert labels(schedule) == {"attention": ("attention/dense_jax", "attention/dense_jax")}


def test_a_baseline_that_is_asked_for_is_refused(planned):
    with pytest.raises(UsageError, match=r"^topk/exact needs jax, which is not installed; pip install"):
        planned("jax", names=["topk"], baseline="exact")


def test_nothing_left_is_a_sentence(planned):
    with pytest.raises(UsageError, match=r"^nothing is left to run: implementations that need .*: 2, 1 of"):
        planned("torch", names=["attention"])


@pytest.fixture(scope="module")
def project():
    return Project()


@pytest.fixture(scope="module")
def part(project):
    """The part of the default sweep, or of a suite, that a text names."""

    def plan(text, suites=(), **overrides):
        return project.plan(suites, Overrides(shard=text, **overrides))

    return plan


@pytest.mark.parametrize(("count", "suites"), [(1, ()), (3, ()), (30, ("mask",))])
def test_the_shards_are_the_sweep(project, part, count, suites):
    """Of thirty shards of one suite, some are empty."""
    schedule = project.plan(suites)
    shards = [part(f"{index}/{count}", suites) for index in range(1, count + 1)]
    assert all(shard.groups for shard in shards) == (count < 30)
    groups = [group for shard in shards for group in shard.groups]
    assert sorted(group.key for group in groups) == sorted(group.key for group in schedule.groups)
    assert all(group in schedule.groups for group in groups), "whole groups, with their baselines"
    cases = [case.id for shard in shards for suite in shard.suites for case in suite.cases]
    assert sorted(cases) == sorted(case.id for suite in schedule.suites for case in suite.cases)
    assert sorted(skip.case.id for shard in shards for skip in shard.skips) == sorted(
        skip.case.id for skip in schedule.skips
    )


def test_the_shards_of_one_sweep_know_each_other_on_machines_of_any_size(part):
    sweep = part("2/8").shard.sweep
    assert part("1/8").shard.sweep == sweep
    assert part("2/8", settings={"threads": "1", "memory": "1GiB"}).shard.sweep == sweep
    assert part("2/8", settings={"budget": "9s"}).shard.sweep != sweep
    assert part("2/8", seqs=("4Ki",)).shard.sweep != sweep


def test_no_part_has_more_than_one_group_above_another(part):
    sizes = [len({case.group for suite in part(f"{i}/3").suites for case in suite.cases}) for i in (1, 2, 3)]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "3/", "a/b", "-1/8", "1/8/8", ""])
def test_what_is_no_part_is_refused(part, text):
    with pytest.raises(UsageError, match="no part of a whole"):
        part(text)
