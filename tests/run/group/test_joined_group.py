"""Groups of several workloads as one: inputs of their own, rounds in common, what a load does to factors."""

from dataclasses import replace

import pytest

from harness.analysis.results import by_suite
from harness.analysis.sensitivity import FIELD, sensitivities
from harness.core.case import Case
from harness.run.group.group_context import GroupContext
from harness.run.group.group_run import GroupRun
from harness.sweep.schedule import Group, Schedule, interleave, suite_info
from tests.run.fakes import MIB, Act, FakeExecutor
from tests.run.plans import SETTINGS, context, schedule

NAMES = ("broadcast", "scatter")


def over_distributions(*distributions: str) -> Schedule:
    """A suite of one length with groups of different distributions."""

    def group(data: str) -> Group:
        cases = [Case.of(f"mask/{name}", {}, {FIELD: data, "rows": 4, "seq": 1024}) for name in NAMES]
        base = (cases[0].id,)
        return Group(cases[0].group, tuple(cases), {c.id: base for c in cases}, SETTINGS, confidence=0.99)

    groups = tuple(map(group, distributions))
    one = schedule(NAMES)
    cases = tuple(case for group in groups for case in group.cases)
    return replace(one, suites=(replace(one.suites[0], cases=cases),), groups=groups)


def measure(executor, folder, planned):
    """The records of all groups, one after the other."""
    shared = context(executor, folder)
    return [r for group in planned.groups for r in GroupRun(GroupContext(group, shared)).run()]


def join_groups(planned):
    return interleave(planned, FIELD, 0.99)


def test_every_case_is_in_every_round_for_every_distribution(tmp_path):
    records = measure(FakeExecutor(), tmp_path, join_groups(over_distributions("iid", "tied", "zeros")))
    assert [record.status for record in records] == ["ok"] * 6
    assert len({tuple(sorted(set(record.timing.round))) for record in records}) == 1


def test_each_distribution_has_separate_inputs_and_reference(tmp_path):
    executor = FakeExecutor()
    measure(executor, tmp_path, join_groups(over_distributions("iid", "tied")))
    of = {}
    for job, _ in executor.jobs:
        of.setdefault(dict(job.case.workload)[FIELD], set()).add((job.group, job.folder))
    # As in a group of its own: the key seeds the inputs, so that joining changes no value.
    assert {data: {key for key, _ in places} for data, places in of.items()} == {
        data: {f"mask@distribution={data},rows=4,seq=1024:fwd:cpu"} for data in ("iid", "tied")
    }
    assert len({folder for places in of.values() for _, folder in places}) == 2
    assert [job.role for job, _ in executor.jobs].count("reference") == 2
    judged_in = {verb for who, _, verb, _ in executor.asked if who == "reference"}
    assert judged_in == {"inputs", "reference", "judge", "fresh"}


def test_implementation_incorrect_on_one_distribution_is_timed_on_others(tmp_path):
    executor = FakeExecutor()
    judge = iter(("", "", "", "3 elements differ"))

    def wrong_once(arguments):
        reason = next(judge, "")
        verdict = {"contract": "exact", "passed": not reason, "coverage": "whole", "figures": {}}
        return {"correctness": verdict, "reason": reason, "changed": None}

    executor.reference = Act(verbs={"judge": wrong_once})
    records = measure(executor, tmp_path, join_groups(over_distributions("iid", "tied")))
    assert [record.status for record in records] == ["ok", "ok", "ok", "incorrect"]


def test_distributions_that_do_not_fit_together_have_separate_rounds(tmp_path):
    executor = FakeExecutor({name: Act(planned=300 * MIB) for name in NAMES})
    planned = join_groups(over_distributions("iid", "tied"))
    records = measure(executor, tmp_path, planned)
    rounds = {}
    for record in records:
        rounds.setdefault(record.workload[FIELD], []).append(set(record.timing.round))
    assert rounds["iid"][0] == rounds["iid"][1]
    assert rounds["tied"][0] == rounds["tied"][1]
    assert not rounds["iid"][0] & rounds["tied"][0]
    (_, scatter) = sensitivities(by_suite({"suites": suite_info(planned)}, records), {})
    assert (scatter.largest.is_different, scatter.largest.ratio.reason) == (False, "no round has all sides")


def test_case_near_memory_limit_does_not_end_cases_of_other_inputs(tmp_path):
    planned = {"scatter": Act(planned=int(0.9 * SETTINGS.memory_bytes))}
    records = measure(FakeExecutor(planned), tmp_path, join_groups(over_distributions("iid", "tied")))
    assert [record.status for record in records] == ["ok"] * 4
    assert all(record.timing for record in records)


class BusyMachine(FakeExecutor):
    """From this time on the machine is busy, which triples the time of `broadcast` only."""

    def __init__(self, since: float) -> None:
        super().__init__()
        self.acts = {
            "broadcast": Act(seconds=lambda _: 0.06 if self.clock.now > since else 0.02),
            "scatter": Act(seconds=0.01),
        }


def told_apart(executor, folder, planned):
    records = measure(executor, folder, planned)
    return {
        one.implementation: one.largest.is_different
        for one in sensitivities(by_suite({"suites": suite_info(planned)}, records), {})
    }


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.7])
def test_starting_load_does_not_change_ratio_between_distributions(tmp_path, share):
    quiet = BusyMachine(float("inf"))
    measure(quiet, tmp_path, join_groups(over_distributions("iid", "tied")))
    executor = BusyMachine(share * quiet.clock.now)
    found = told_apart(executor, tmp_path, join_groups(over_distributions("iid", "tied")))
    assert found == {"mask/broadcast": False, "mask/scatter": False}


def test_a_factor_between_distributions_is_found_under_that_load(tmp_path):
    class Sensitive(BusyMachine):
        def spawn(self, job, limit_bytes):
            worker = super().spawn(job, limit_bytes)
            if worker.name == "scatter" and dict(job.case.workload)[FIELD] == "tied":
                worker.act = Act(seconds=0.025)
            return worker

    found = told_apart(Sensitive(1.5), tmp_path, join_groups(over_distributions("iid", "tied")))
    assert found == {"mask/broadcast": False, "mask/scatter": True}
