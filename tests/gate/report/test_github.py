"""Annotations as the runner parses them, and the Markdown of the summary."""

import pytest

from harness.gate.outcome import IMPROVED, INCORRECT, NOT_ENOUGH, REGRESSED, UNCHANGED, WARN, CaseVerdict
from harness.gate.report import annotations, summary


def test_levels_begin_with_what_weighs_most(outcome):
    levels = [line.split(" ")[0] for line in annotations(outcome(), "/checkout")]
    assert levels == ["::error"] * 4 + ["::warning", "::notice"]


def test_a_file_is_named_from_the_checkout(outcome):
    lines = annotations(outcome(), "/checkout")
    regressed = next(line for line in lines if "regressed" in line)
    place = "file=impls/mask/scatter.py,line=12"
    assert regressed.startswith(f"::error {place},title=regressed%3A mask/scatter at 16Ki::")
    incorrect = next(line for line in lines if "incorrect" in line)
    assert incorrect.startswith("::error file=impls/topk/exact.py,line=7,")


def test_a_file_elsewhere_has_no_place_in_the_diff(outcome):
    invalid = next(line for line in annotations(outcome(), "/checkout") if "invalid" in line)
    assert invalid.startswith("::error title=")
    assert not any("/checkout" in line for line in annotations(outcome()))


def test_what_the_runner_would_parse_is_escaped(outcome):
    case = CaseVerdict("m/a[k=1,l=2]", INCORRECT, "50 % wrong:\r\nall, of them", file="a:b,c.py")
    (line,) = annotations(outcome([case]))
    assert line == (
        "::error file=a%3Ab%2Cc.py,title=incorrect%3A m/a[k=1%2Cl=2]"
        "::m/a[k=1,l=2]%0A50 %25 wrong:%0Aall, of them"
    )


def test_unchanged_cases_are_not_annotated(outcome, verdict):
    assert annotations(outcome([verdict("m/a", UNCHANGED, -1, 0, 1)])) == []


@pytest.mark.parametrize("inconclusive", ["warn", "fail"])
def test_not_enough_evidence_only_warns(outcome, verdict, inconclusive):
    (line,) = annotations(outcome([verdict("m/a", NOT_ENOUGH, -3, 3, 9)], inconclusive=inconclusive))
    assert line.startswith("::warning ")


@pytest.mark.parametrize(("count", "shown"), [(10, 10), (11, 10), (40, 10)])
def test_ten_of_a_level_are_shown_and_the_rest_counted(outcome, verdict, count, shown):
    lines = annotations(outcome([verdict(f"m/{i}", REGRESSED, 3, 5, 7) for i in range(count)]))
    assert len(lines) == shown
    if count > shown:
        more = f"{count - 9} more: {count - 9} regressed; the job summary lists them"
        assert lines[-1] == f"::error title=gate::and {more}"


def test_between_equal_sides_faster_is_an_error_too(outcome, verdict):
    (line,) = annotations(outcome([verdict("m/a", IMPROVED, -9, -7, -5)], self_check=True))
    assert line.startswith("::error ")


def test_a_side_that_does_not_load(outcome):
    broken = outcome(broken="git:3d602ab does not load: SyntaxError")
    says = "git:3d602ab does not load: SyntaxError"
    assert annotations(broken) == [f"::error title=gate%3A a side does not load::{says}"]
    assert summary(broken) == "### Gate: a side does not load\n\ngit:3d602ab does not load: SyntaxError\n"


def test_the_summary_begins_with_the_verdict(outcome, verdict):
    text = summary(outcome([verdict("m/a", REGRESSED, 3, 5, 7)]))
    assert text.startswith(
        "### Gate: regressed: 1 regressed (exit code 1)\n\nworking tree against git:3d602ab"
    )
    assert "- `regressed: seqsweep gate --last --explain m/a`\n" in text


def test_a_table_has_as_many_cells_as_columns(outcome):
    rows = [line for line in summary(outcome()).splitlines() if line.startswith("|")]
    assert len(rows) == 9 + 3 * 2
    assert {row.replace("\\|", "").count("|") for row in rows} == {8}
    assert any("2 of 128 rows \\| differ from the reference" in row for row in rows)


def test_what_needs_no_attention_is_folded_away(outcome):
    text = summary(outcome())
    before, folded = text.split("<details><summary>1 new, 2 unchanged</summary>\n\n")
    assert "| unchanged |" not in before
    assert folded.split("</details>")[0].count("| unchanged |") == 2
    assert "<details><summary>3 left out</summary>" in folded
    assert text.count("<details>") == text.count("</details>") == 2


def test_a_reason_is_text_and_no_markup(outcome):
    text = summary(outcome([CaseVerdict("m/a", INCORRECT, "<b>x</b>\n| # *y* `z` & [w](v)")]))
    assert "&lt;b&gt;x&lt;/b&gt; \\| \\# \\*y\\* \\`z\\` &amp; \\[w\\](v)" in text


def test_static_figures_have_no_column_of_times(static):
    assert "| case | seq | verdict | reason |" in summary(static)
    assert "98 %" not in summary(static)


def test_a_lenient_gate_says_that_it_is(outcome, verdict):
    text = summary(outcome([verdict("m/a", NOT_ENOUGH, -3, 3, 9)], inconclusive=WARN))
    assert "(exit code 0, since --inconclusive warn)" in text
