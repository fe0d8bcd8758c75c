"""How a run, a check and a compilation end: a script must not take silence for success."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.commands.run import end_run
from harness.core.static_figures import Static
from harness.run.session import Done
from harness.store.stored_run import Stored
from tests.records import FAILED, static_of, timing_of
from tests.report.conftest import record_of

FIGURES = {"host": static_of(temp_bytes=8)}
NO_FIGURES = {"host": Static.none("libtpu is not installed")}
TIMED = record_of("a", 1024, timing=timing_of([1.0] * 6), static=FIGURES)
JUDGED = replace(TIMED, timing=None)
CRASHED, TIMEOUT, UNSUPPORTED, SKIPPED = (
    record_of(name, 1024, name, static=NO_FIGURES)
    for name in ("crashed", "timeout", "unsupported", "skipped")
)
WRONG = record_of("wrong", 1024, "incorrect", correctness=FAILED, static=FIGURES)


class Folder:
    path = Path("results/runs/x")

    def __init__(self, depth, records):
        self.info, self.stored = {"depth": depth}, Stored({}, records, ())

    def read(self):
        return self.stored


def done(*records, depth="run", interrupted=False):
    return Done(Folder(depth, records), interrupted)


@pytest.mark.parametrize(
    ("records", "code", "strict_code"),
    [
        ([TIMED], 0, 0), ([TIMED, CRASHED], 0, 3), ([TIMED, TIMEOUT], 0, 3), ([TIMED, UNSUPPORTED], 0, 3),
        ([TIMED, SKIPPED], 0, 0), ([TIMED, replace(WRONG, expected=True)], 0, 0),
        ([replace(WRONG, expected=True)], 0, 0), ([JUDGED], 3, 3), ([CRASHED, SKIPPED, UNSUPPORTED], 3, 3),
        ([], 3, 3), ([WRONG], 4, 4), ([CRASHED, WRONG], 4, 4),
    ],
)  # fmt: skip
def test_a_run_that_measured_nothing_fails(records, code, strict_code):
    assert end_run(done(*records), strict=False) == code
    assert end_run(done(*records), strict=True) == strict_code


def test_a_check_need_not_time():
    assert end_run(done(JUDGED, depth="check"), strict=False) == 0
    assert end_run(done(UNSUPPORTED, depth="check"), strict=False) == 3


@pytest.mark.parametrize(
    ("depth", "says"),
    [("run", "resume with: seqsweep run --resume"), ("check", "again with: seqsweep run\n")],
)
def test_only_resumable_runs_say_how_to_resume(depth, says, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["cli.py", "run"])
    assert end_run(done(TIMED, depth=depth, interrupted=True), strict=False) == 130
    assert says in capsys.readouterr().err


def test_failed_cases_are_counted_by_status(capsys):
    end_run(done(CRASHED, UNSUPPORTED, UNSUPPORTED), strict=False)
    says = "nothing was measured: 1 crashed, 2 unsupported; see the reasons above\n"
    assert capsys.readouterr().err == says


def test_a_compilation_without_figures_fails():
    assert end_run(done(UNSUPPORTED, depth="static"), strict=False) == 3
    assert end_run(done(JUDGED, UNSUPPORTED, depth="static"), strict=False) == 0
    assert end_run(done(JUDGED, UNSUPPORTED, depth="static"), strict=True) == 3


def test_a_program_that_does_not_fit_has_figures():
    refused = {"tpu:v5p": replace(Static.none("out of memory"), fits=False)}
    oom = record_of("a", 1024, "oom", static=refused)
    assert end_run(done(oom, depth="static"), strict=False) == 0
