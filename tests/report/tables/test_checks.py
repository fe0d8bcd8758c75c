"""The table of checks: how many cases hold, what they answer, and the first that do not."""

import io

from rich.console import Console

from harness.core.record import Checked
from harness.report.tables.checks import print_checks


def make_check(passed, name="mask/kept_count", **more):
    return Checked(name, "threshold may keep more than k (MaxText #4437)", passed, **more)


def print_text(records):
    console = Console(file=io.StringIO(), width=140, no_color=True)
    print_checks(console, records)
    return console.file.getvalue()


def test_what_holds_and_what_fails_is_counted(record):
    failed = make_check(False, reason="row 3 keeps 2050 of 2048")
    records = [
        record("scatter", 4096, checks=(make_check(True),)),
        record("threshold_raw", 4096, checks=(failed,)),
    ]
    assert [one.unexpected for one in records] == [False, True]
    text = print_text(records)
    assert "checks of mask" in text
    assert "1 of 2" in text
    assert "threshold_raw at 4Ki: row 3 keeps 2050 of 2048" in " ".join(text.split())
    assert "threshold may keep more than k" in text


def test_a_property_is_told_with_its_size_and_decides_nothing(record):
    records = [record("scatter", 4096, checks=(make_check(None, figures={"leak": 0.25}),))]
    text = print_text(records)
    assert "property" in text
    assert "scatter at 4Ki: leak 0.25" in text
    assert not records[0].unexpected


def test_options_and_figures_are_told_as_they_stand_elsewhere(record):
    figures = {"expected_recall": 0.9995027905, "calls": None, "lost": 5}
    records = [record("two_stage", 4096, options={"keep": 2}, checks=(make_check(None, figures=figures),))]
    assert "two_stage[keep=2] at 4Ki: expected recall 0.9995, lost 5" in " ".join(print_text(records).split())


def test_many_failures_are_not_all_printed(record):
    records = [record("scatter", seq, checks=(make_check(False, reason="no"),)) for seq in (1024, 2048, 4096)]
    assert "and 1 more; --json has them" in print_text(records)


def test_nothing_is_printed_without_checks(record):
    assert print_text([record("scatter", 4096)]) == ""
