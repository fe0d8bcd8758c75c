"""Annotations as the runner parses them, and the Markdown of the summary."""

from harness.gate.outcome import IMPROVED, INCORRECT, REGRESSED, CaseVerdict
from harness.gate.report.github import annotations, summary
from tests.gate.report.conftest import golden


def test_annotations_and_summary_of_every_verdict(outcome):
    lines = "\n".join(annotations(outcome(), "/checkout")) + "\n"
    assert lines.encode() == golden("gate_annotations.txt")
    assert summary(outcome()).encode() == golden("gate_summary.md")


def test_what_the_runner_would_parse_is_escaped(outcome):
    case = CaseVerdict("m/a[k=1,l=2]", INCORRECT, "50 % wrong:\r\nall, of them", file="a:b,c.py")
    (line,) = annotations(outcome([case]))
    assert line == (
        "::error file=a%3Ab%2Cc.py,title=incorrect%3A m/a[k=1%2Cl=2]"
        "::m/a[k=1,l=2]%0A50 %25 wrong:%0Aall, of them"
    )


def test_ten_of_a_level_are_shown_and_the_rest_counted(outcome, verdict):
    regressed = [verdict(f"m/{i}", REGRESSED, 3, 5, 7) for i in range(11)]
    assert all("regressed%3A" in line for line in annotations(outcome(regressed[:10])))
    lines = annotations(outcome(regressed))
    assert len(lines) == 10
    assert lines[-1] == "::error title=gate::and 2 more: 2 regressed; the job summary lists them"


def test_between_equal_sides_faster_is_an_error_too(outcome, verdict):
    (line,) = annotations(outcome([verdict("m/a", IMPROVED, -9, -7, -5)], self_check=True))
    assert line.startswith("::error ")


def test_a_side_that_does_not_load(outcome):
    says = "git:3d602ab does not load: SyntaxError"
    broken = outcome(broken=says)
    assert annotations(broken) == [f"::error title=gate%3A a side does not load::{says}"]
    assert summary(broken) == f"### Gate: a side does not load\n\n{says}\n"


def test_a_reason_is_text_and_no_markup(outcome):
    text = summary(outcome([CaseVerdict("m/a", INCORRECT, "<b>x</b>\n| # *y* `z` & [w](v)")]))
    assert "&lt;b&gt;x&lt;/b&gt; \\| \\# \\*y\\* \\`z\\` &amp; \\[w\\](v)" in text
