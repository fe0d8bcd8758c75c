"""What a run would do, without doing it."""

from dataclasses import replace

import pytest

from harness.run.compile import pool as pool_module
from harness.run.compile.pool import Pool
from harness.run.compile.request import CompileResult
from harness.run.dry_run import PlannedCase, PlannedSuite, compile_cases, count_cases
from tests.run.compile.fakes import FakeLane, answer
from tests.run.fakes import MIB, Heard
from tests.run.plans import SETTINGS, case, catalog, schedule

SCATTER = ("mask/scatter", 1024, "host")


@pytest.fixture
def rehearse(tmp_path, monkeypatch):
    """The rows of a dry run; `acts` are a fake compiler's answers, and `worker` is that compiler."""
    monkeypatch.setattr(pool_module, "cache_key", lambda request, *_: {"case": request.case.id})

    def run(acts=None, **planned):
        run.worker = FakeLane(acts or {}, threads=SETTINGS.threads)
        pool = Pool(catalog(), tmp_path, [run.worker])
        try:
            return compile_cases(
                schedule(seqs=(1024,), **planned), {case("broadcast").id: 1.25}, Heard(), pool
            )
        finally:
            pool.close()

    return run


def test_suites_are_counted_and_nothing_is_compiled():
    planned = schedule(seqs=(1024, 2048), skips=(("threshold", 2048),), replicates=3)
    counted = count_cases(planned)
    assert counted.suites == [
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
    assert (counted.total, counted.budget_s) == (12, 12 * SETTINGS.budget_s)
    assert counted.cases is None


def test_a_case_that_two_suites_share_is_counted_once_in_all():
    planned = schedule(seqs=(1024,))
    shared = replace(planned, suites=(*planned.suites, replace(planned.suites[0], name="again")))
    counted = count_cases(shared)
    assert [len(suite.cases) for suite in counted.suites] == [2, 2]
    assert (counted.total, counted.budget_s) == (2, 2 * SETTINGS.budget_s)


def test_every_case_is_compiled_and_none_is_run(rehearse):
    assert rehearse(skips=(("threshold", 2048),)) == [
        PlannedCase(case("threshold", 2048).id, None, None, None, "mask has no such mode; use another"),
        PlannedCase(case("broadcast").id, 3 * MIB, True, 1.25, None),
        PlannedCase(case("scatter").id, 3 * MIB, True, SETTINGS.budget_s, None),
    ]
    assert sorted(rehearse.worker.compiled) == [("mask/broadcast", 1024, "host"), SCATTER]
    assert rehearse.worker.closed


def test_what_is_kept_is_not_compiled_again(rehearse):
    first = rehearse()
    assert rehearse() == first
    assert rehearse.worker.compiled == []


NO_PLAN = CompileResult.failed("ok", "no planner").static
TOO_LARGE = [
    (answer(2000 * MIB), (2002 * MIB, False), "the compiler plans 1.96 GiB; the limit is 1000 MiB"),
    (
        CompileResult("ok", NO_PLAN, input_bytes=2000 * MIB),
        (None, False),
        "its inputs alone take 1.95 GiB; the limit is 1000 MiB",
    ),
    (CompileResult.failed("crashed", "ValueError: no"), (None, None), "ValueError: no"),
]


@pytest.mark.parametrize(("compiled", "plan", "why"), TOO_LARGE)
def test_what_does_not_fit_or_compile_would_not_run(rehearse, compiled, plan, why):
    row = rehearse({SCATTER: compiled})[1]
    assert ((row.planned_bytes, row.fits), row.seconds) == (plan, None)
    assert row.skip.startswith(why)
