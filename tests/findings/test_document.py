"""Findings document: every section, from records with known outcomes."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.errors import UsageError
from harness.core.peak_owners import Owner, Owners
from harness.findings.compose import compose, fill_blocks, whole_page
from harness.findings.findings_run import read_findings_run
from harness.findings.html import to_html
from harness.store.runs import RunFolder
from tests.commands.test_text_of_others import LONE, NASTY, assert_shown
from tests.findings.stored import MACHINE, K, store_findings_run, sweep
from tests.goldens import assert_golden, scenes, without_hashes
from tests.records import record_of, static_of


def page(*runs, **more):
    return whole_page(compose(runs, charts=False, **more), "Findings", "findings")


SCORE = Owner("fusion", "temp", 8 * K, "eq", "pred[8192]", "impls/mask/dense.py:22")
PEAK = Owners(10 * K, 0, 2 * K, (SCORE,), (0, 0))
OWNED = {"host": static_of(temp_bytes=8 * K, argument_bytes=K, output_bytes=K, fits=True, owners=PEAK)}


@pytest.fixture
def kept(tmp_path):
    """Runs by name: a sweep, two clocks, a missing case, two machines, buffer breakdowns."""
    here = store_findings_run(tmp_path / "here", sweep(), run="here")
    slower = tuple(replace(record, run="there", fingerprint="sha256:bb") for record in sweep())
    there = store_findings_run(tmp_path / "slower", slower, run="there")
    for run, facts in ((here, MACHINE), (there, {"sha256:bb": {"cpu": "Xeon", "threads": 2}})):
        run.info["fingerprints"] = facts
    events = [
        replace(r, timing=replace(r.timing, method="cuda_events" if r.baseline else "wall"))
        for r in sweep()
        if r.seq < 16 * K
    ]
    cases = [*(r.case for r in sweep()), "mask/x@seq=1:fwd:cpu"]
    owned = [replace(record, static=OWNED) if record.static else record for record in sweep()]
    notes = {"notes": "- The clock was wrong.\n"}
    return {
        "a sweep": [store_findings_run(tmp_path / "sweep", sweep(), **notes)],
        "times of two clocks": [store_findings_run(tmp_path / "clocks", events)],
        "a case without a record": [
            store_findings_run(tmp_path / "few", sweep(), suites={"mask": {"family": "mask", "cases": cases}})
        ],
        "two machines": [here, there],
        "owners of peaks": [store_findings_run(tmp_path / "owners", owned)],
    }


def test_documents_match_their_golden_file(kept):
    pages = {name: without_hashes(page(*runs, lock=Path("constraints.txt"))) for name, runs in kept.items()}
    assert_golden("findings.md", scenes(pages))
    assert list(compose(kept["times of two clocks"]).pictures) == ["mask-latency.svg"]
    owned = kept["owners of peaks"]
    said = "dense at 8Ki on host: peak 10 KiB: 8 KiB from eq at impls/mask/dense.py:22"
    assert said in to_html(compose(owned, charts=False), owned, "Findings", None)


def test_every_row_names_its_record(tmp_path):
    run = store_findings_run(tmp_path, sweep())
    text = page(run)
    for digest in run.hashes.values():
        assert f"| {digest[:10]} |" in text
        assert RunFolder(tmp_path / "runs" / "one").record_of_hash(digest[:10]) in run.records


PROSE = "# Mine\n\nProse.\n\n<!-- seqsweep:table mask -->\nold\n<!-- seqsweep:end -->\n\nMore `prose`.\n"


def test_only_marked_blocks_change_and_filling_twice_changes_nothing(tmp_path):
    document = compose([store_findings_run(tmp_path, sweep())], charts=False)
    once = fill_blocks(PROSE, document, "f", "F.md")
    assert once.startswith("# Mine\n\nProse.\n\n<!-- seqsweep:table mask -->\n\n**mask: ")
    assert once.endswith("<!-- seqsweep:end -->\n\nMore `prose`.\n")
    assert "old" not in once
    assert fill_blocks(once, document, "f", "F.md") == once


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prose", "no block to fill"),
        ("a\n<!-- seqsweep:table -->\n", "F.md:2: unpaired mark"),
        (
            "a\n<!-- seqsweep:tables -->\n<!-- seqsweep:end -->",
            'F.md:2: no section "tables"; nearest: "table"',
        ),
        ("<!-- seqsweep:end -->", "F.md:1: unpaired mark"),
        ("<!-- seqsweep:table -->\n<!-- seqsweep:replay -->", "F.md:1: unpaired mark"),
    ],
)
def test_a_bad_mark_is_named_with_its_line(tmp_path, text, says):
    with pytest.raises(UsageError, match=says):
        fill_blocks(text, compose([store_findings_run(tmp_path, sweep())], charts=False), "f", "F.md")


def test_hostile_text_stays_in_its_place(tmp_path):
    hostile = f"{NASTY} --> <!-- seqsweep:end -->"
    records = [*sweep(), record_of("odd", 4 * K, status="crashed", reason=hostile, options={"how": hostile})]
    run = store_findings_run(tmp_path, records, notes=hostile, command=["seqsweep", hostile])
    text = page(replace(run, problems=(hostile,), name=LONE))
    assert_shown(text, once=False)
    outside = "".join(text.split("```")[::2])  # a fence shows its text unchanged
    assert "<script>" not in outside
    assert outside.count("-->") == outside.count("<!-- seqsweep:")
    document = compose([run], charts=False)
    assert fill_blocks(page(run), document, "findings", "F.md") == page(run)


def test_the_same_records_make_the_same_bytes(tmp_path):
    run = store_findings_run(tmp_path, sweep())
    first, second = compose([run]), compose([read_findings_run(RunFolder(tmp_path / "runs/one"), run.name)])
    assert first == second
    assert list(first.pictures) == ["mask-speedup.svg"]
