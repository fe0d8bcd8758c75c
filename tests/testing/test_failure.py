"""What a failed test says, of records built by hand."""

from pathlib import Path

import pytest

from harness.core.record import Checked
from harness.testing.failure import describe_failures, failures
from tests.records import FAILED, PASSED, record_of

KEPT = Checked("mask/kept_count", "a threshold keeps more", passed=False, figures={"kept": 70})


def wrong(name="mine", seq=512, **more):
    return record_of(name, seq, status="incorrect", correctness=FAILED, reason="12 elements differ", **more)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (record_of("mine", 512, correctness=PASSED), []),
        (wrong(), ["incorrect: 12 elements differ"]),
        (wrong(expected=True), []),
        (
            record_of("mine", 512, correctness=PASSED, expected=True),
            ["declared to be incorrect here, but it is right"],
        ),
        (record_of("mine", 512, status="unsupported"), ["unsupported: a sentence with a remedy"]),
        (record_of("mine", 512, status="oom", expected=True), ["oom: a sentence with a remedy"]),
        (record_of("mine", 512), ["nothing was judged"]),
        (
            record_of("mine", 512, correctness=PASSED, checks=(KEPT,)),
            ["check mask/kept_count: kept 70 (it answers: a threshold keeps more)"],
        ),
    ],
)
def test_what_does_not_pass(record, said):
    assert failures(record) == said


def test_a_check_that_was_named_has_to_run():
    record = record_of("mine", 512, correctness=PASSED)
    assert failures(record, ["mask/kept_count"]) == ["check mask/kept_count does not concern this case"]


def test_the_message_names_case_contract_figures_and_the_command():
    records = [wrong(), record_of("mine", 1024, correctness=PASSED)]
    message = describe_failures(records, (), ["seqsweep", "check", "mask/mine[a=1]"], Path("/runs/1"))
    assert message.splitlines() == [
        "1 of 2 cases failed",
        "",
        records[0].case,
        "  incorrect: 12 elements differ",
        "  contract exact, the whole result compared: mismatches 12",
        "",
        "again: seqsweep check 'mask/mine[a=1]'",
        "records: /runs/1",
    ]
    assert describe_failures(records[1:], (), [], Path("/runs/1")) == ""


def test_text_of_others_cannot_colour_the_message():
    record = record_of(
        "mine", 512, status="crashed", reason="it \x1b[31mbroke\x1b[0m\nhere", crash_file="c.txt"
    )
    message = describe_failures([record], (), [], Path("/runs/1"))
    assert "  crashed: it broke here\n  what it printed: /runs/1/c.txt\n" in message
