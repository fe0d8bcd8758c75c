"""What a run would do, without doing it."""

from dataclasses import replace

from harness.run.dry_run import PlannedSuite, count_cases
from tests.run.plans import SETTINGS, case, schedule


def test_suites_are_counted_and_nothing_is_compiled():
    planned = schedule(seqs=(1024, 2048), skips=(("threshold", 2048),), replicates=3)
    suites, *counted = count_cases(planned)
    assert suites == [
        PlannedSuite(
            suite="mask",
            axes={"seq": 2},
            modes=1,
            devices=1,
            implementations=2,
            cases=[one.id for one in planned.suites[0].cases[:4]],
            impossible={case("threshold", 2048).id: "mask has no such mode; use another"},
            budget_s=4 * 3 * SETTINGS.budget_s,
            baseline=planned.suites[0].baseline,
            settings=SETTINGS,
        )
    ]
    assert counted == [12, 12 * SETTINGS.budget_s]


def test_a_case_that_two_suites_share_is_counted_once_in_all():
    planned = schedule(seqs=(1024,))
    shared = replace(planned, suites=(*planned.suites, replace(planned.suites[0], name="again")))
    suites, *counted = count_cases(shared)
    assert [len(suite.cases) for suite in suites] == [2, 2]
    assert counted == [2, 2 * SETTINGS.budget_s]
