"""The findings document: what each section says of records whose outcome is known."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.errors import UsageError
from harness.findings.compose import TITLES, compose, fill_blocks, whole_page
from harness.findings.kept_run import read_kept
from harness.store.runs import RunFolder
from tests.commands.test_text_of_others import LONE, NASTY, assert_shown
from tests.findings.kept import MACHINE, K, store_kept_run, sweep
from tests.records import record_of


def page(*runs, **more):
    return whole_page(compose(runs, charts=False, **more), "Findings", "findings")


def test_the_verdict_names_claim_interval_device_and_reach(tmp_path):
    text = page(store_kept_run(tmp_path, sweep()))
    verdict = text.partition("<!-- seqsweep:verdict -->")[2].partition("<!-- seqsweep:end -->")[0]
    assert "sparse beats dense from 8Ki: 2.00×, 95 % \\[2.000, 2.000\\]; on cpu" in verdict
    assert "holds at 8Ki" in verdict
    assert "Crossover of sparse: between 4Ki and 8Ki, ≈ 5.66Ki by interpolation." in verdict
    assert "Memory boundary: dense fits 8Ki, not 16Ki; what else ran fits to 16Ki." in verdict


def test_times_of_different_clocks_have_no_verdict_and_are_drawn_as_they_are(tmp_path):
    by_events = [
        replace(r, timing=replace(r.timing, method="cuda_events" if r.baseline else "wall"))
        for r in sweep()
        if r.seq < 16 * K
    ]
    document = compose([store_kept_run(tmp_path, by_events)])
    (verdict,) = document.sections[0].parts
    assert verdict.lead == "No speedup over dense: timed by wall, the baseline by cuda_events."
    assert verdict.sentences[-1] == "Memory boundary: whatever ran fits, to 8Ki at most."
    assert list(document.pictures) == ["mask-latency.svg"]


def test_a_suite_on_several_machines_says_first_what_each_verdict_is(tmp_path):
    here = store_kept_run(tmp_path / "here", sweep())
    slower = [replace(record, run="two", fingerprint="sha256:bb") for record in sweep()]
    there = store_kept_run(tmp_path / "there", slower, run="two")
    for run, facts in ((here, MACHINE), (there, {"sha256:bb": {"cpu": "Xeon", "threads": 2}})):
        run.info["fingerprints"] = facts
    verdict = page(here, there).partition("<!-- seqsweep:verdict -->")[2]
    said = "sparse against dense at 8Ki: faster on both machines; 2.000×"
    assert 0 < verdict.index(said) < verdict.index("sparse beats dense")
    again = [replace(record, run="two") for record in sweep()]
    assert "machines agree" not in page(here, store_kept_run(tmp_path / "again", again, run="two"))


def test_sections_stand_in_their_order_and_doubts_are_named(tmp_path):
    text = page(
        store_kept_run(tmp_path, sweep(), notes="- The clock was wrong.\n"), lock=Path("constraints.txt")
    )
    order = [text.index(f"<!-- seqsweep:{key} -->") for key in TITLES if f"seqsweep:{key} " in text]
    assert order == sorted(order)
    assert "A win at 4Ki already, which would move the crossover." in text
    assert "A speedup at 16Ki, which has none." in text
    assert "- The clock was wrong." in text
    assert "git checkout c0ffee && pip install -c constraints.txt -e '.[all]' && seqsweep run" in text


def test_an_empty_place_is_shown_with_its_kind(tmp_path):
    run = store_kept_run(
        tmp_path,
        sweep(),
        suites={"mask": {"family": "mask", "cases": [*[r.case for r in sweep()], "mask/x@seq=1:fwd:cpu"]}},
    )
    text = page(run)
    row = next(line for line in text.splitlines() if line.startswith("| 16Ki | dense"))
    assert "*none: oom*<sup>1</sup> | *none: oom*" in row
    assert "*none: not compiled*" in row
    assert "*none: not checked*" in row
    assert "| mask/x@seq=1:fwd:cpu | *none: not measured*" in text


def test_every_row_names_its_record(tmp_path):
    run = store_kept_run(tmp_path, sweep())
    text = page(run)
    for digest in run.hashes.values():
        assert f"| {digest[:10]} |" in text
        assert RunFolder(tmp_path / "runs" / "one").record_of_hash(digest[:10]) in run.records


PROSE = "# Mine\n\nProse.\n\n<!-- seqsweep:table mask -->\nold\n<!-- seqsweep:end -->\n\nMore `prose`.\n"


def test_only_marked_blocks_change_and_filling_twice_changes_nothing(tmp_path):
    document = compose([store_kept_run(tmp_path, sweep())], charts=False)
    once = fill_blocks(PROSE, document, "f", "F.md")
    assert once.startswith("# Mine\n\nProse.\n\n<!-- seqsweep:table mask -->\n\n**mask: ")
    assert once.endswith("<!-- seqsweep:end -->\n\nMore `prose`.\n")
    assert "old" not in once
    assert fill_blocks(once, document, "f", "F.md") == once


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prose", "has no block to fill"),
        ("a\n<!-- seqsweep:table -->\n", "its last block has no <!-- seqsweep:end -->"),
        (
            "a\n<!-- seqsweep:tables -->\n<!-- seqsweep:end -->",
            'F.md:2: no section "tables"; nearest: "table"',
        ),
        ("<!-- seqsweep:end -->", "F.md:1: <!-- seqsweep:end --> ends no block"),
        ("<!-- seqsweep:table -->\n<!-- seqsweep:replay -->", "F.md:2: the block above has no"),
    ],
)
def test_a_bad_mark_is_named_with_its_line(tmp_path, text, says):
    with pytest.raises(UsageError, match=says):
        fill_blocks(text, compose([store_kept_run(tmp_path, sweep())], charts=False), "f", "F.md")


def test_text_of_others_cannot_leave_its_place(tmp_path):
    hostile = f"{NASTY} --> <!-- seqsweep:end -->"
    records = [*sweep(), record_of("odd", 4 * K, status="crashed", reason=hostile, options={"how": hostile})]
    run = store_kept_run(tmp_path, records, notes=hostile, command=["seqsweep", hostile])
    text = page(replace(run, problems=(hostile,), name=LONE))
    assert_shown(text, once=False)
    outside = "".join(text.split("```")[::2])  # a fence shows what it holds as it is
    assert "<script>" not in outside
    assert outside.count("-->") == outside.count("<!-- seqsweep:")
    document = compose([run], charts=False)
    assert fill_blocks(page(run), document, "findings", "F.md") == page(run)


def test_the_same_records_make_the_same_bytes(tmp_path):
    run = store_kept_run(tmp_path, sweep())
    first, second = compose([run]), compose([read_kept(RunFolder(tmp_path / "runs/one"), run.name)])
    assert first == second
    assert list(first.pictures) == ["mask-speedup.svg"]
