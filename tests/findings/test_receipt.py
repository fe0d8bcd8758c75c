"""Receipt: its visible text, and the check of each line against another machine."""

import json
import random
import zlib
from base64 import b64decode, b64encode
from dataclasses import replace

import pytest

from harness.core.errors import UsageError
from harness.core.record import Correctness
from harness.findings.panel_verdict import PanelVerdict
from harness.findings.receipt import receipt_of, require_picture_url
from harness.findings.receipt_text import MOST_BYTES, pack, read_receipt, text_of, to_text
from harness.findings.recheck import Here, check_statements
from harness.report.charts.grid import CaseGrid
from harness.report.charts.speedup import speedup
from tests.commands.test_text_of_others import NASTY, assert_shown
from tests.findings.stored import MACHINE, K, store_findings_run, sweep, timed
from tests.goldens import assert_golden, scenes, without_hashes
from tests.records import PASSED, kernel_of, record_of, static_of, timing_of


def records():
    recall = Correctness("recall", True, "whole", {"recall": 0.9912})
    return [*sweep(), record_of("approx", 4 * K, correctness=recall, options={"how": "--> <b>--"})]


def around(plain):
    packed = b64encode(zlib.compress(plain)).decode()
    return f"<!-- seqsweep-receipt {packed} -->\nx\n<!-- seqsweep-receipt end -->\n"


@pytest.fixture
def receipt(tmp_path):
    return receipt_of(store_findings_run(tmp_path, records()))


HMMA = kernel_of(instructions={"mma": 96})


def visible_of(receipt):
    return to_text(receipt).partition(" -->\n")[2]


def pair(seconds=1e-3, seqs=(4 * K,), **more):
    return [
        timed(name, seq, seconds, baseline=name == "dense", **more)
        for seq in seqs
        for name in ("dense", "sparse")
    ]


def rows_of(rows):
    made = [replace(r, workload={**r.workload, "rows": rows}) for r in sweep()]
    return [replace(r, case=r.case.replace("dtype", f"rows={rows},dtype")) for r in made]


def test_receipts_match_their_golden_file_and_are_read_back_unchanged(receipt, tmp_path):
    slow = static_of(temp_bytes=8 * K, argument_bytes=K, output_bytes=K, fits=True, kernels=(HMMA,))
    few = [replace(record, timing=timing_of([1e-3, 1.1e-3])) for record in pair()]
    runs = {
        "seven lengths": pair(seqs=[K << step for step in range(7)]),
        "without an interval": few,
        "two panels": [*rows_of(1), *rows_of(2)],
        "warnings of kernels": [replace(record, static={"cuda:h100": slow}) for record in sweep()],
    }
    made = {"a sweep": receipt}
    made |= {name: receipt_of(store_findings_run(tmp_path / name, records)) for name, records in runs.items()}
    made["a chart"] = replace(receipt, chart="https://example.org/a_b.svg?raw=true")
    fields = "Fields of m (tp 8): org/configs@0123456, c.json, sha256 ab."
    made["a model"] = replace(receipt, panels=(replace(receipt.panels[0], models=(fields,)),))
    assert_golden(
        "receipts.md", scenes({name: without_hashes(visible_of(each)) for name, each in made.items()})
    )
    for each in made.values():
        text = to_text(each)
        for whole in (text, f"Prose.\n\n{text}\nMore.", text.replace("\n", "\r\n")):
            assert read_receipt(whole, "r.md") == each


@pytest.mark.parametrize(
    "url",
    [
        "ftp://e.org/a",
        "https://e.org/a b",
        "https://e.org/a)b",
        'https://e.org/"',
        "https://é.org/",
        "https://",
    ],
)
def test_the_url_of_a_chart_has_plain_characters(url):
    with pytest.raises(ValueError, match="not an http"):
        require_picture_url(url)


def test_a_wide_interval_is_undecided_in_receipt_document_and_chart_title(tmp_path):
    jumpy = timing_of([2e-4, 8e-3] * 8)
    made = [
        timed("dense", 4 * K, 1e-3, baseline=True),
        record_of("sparse", 4 * K, timing=jumpy, correctness=PASSED),
    ]
    run = store_findings_run(tmp_path, made)
    (panel,) = receipt_of(run).panels
    undecided = "sparse compared with dense: undecided, ≈0.8×"
    assert panel.answer.startswith(f"{undecided} at 4Ki, 95 % [0.1")
    assert "about the same" not in to_text(receipt_of(run))
    (verdict,) = (PanelVerdict(run, panel).verdict_part() for panel in run.panels)
    assert verdict.lead.startswith(undecided)
    assert verdict.lead.endswith("; no verdict.")
    assert speedup(CaseGrid.of(run.suites[0])).title.startswith(undecided)


def test_a_comment_ends_where_its_data_end(receipt):
    text = to_text(receipt)
    assert text.count("-->") == 2
    assert "--" not in text.partition("receipt ")[2].partition(" -->")[0]


def test_eighteen_records_are_four_kibibytes(tmp_path):
    chosen = random.Random(0)
    made = [
        timed(name, K << step, chosen.uniform(1e-3, 1), baseline=name == "dense")
        for step in range(6)
        for name in ("dense", "sparse", "other")
    ]
    figures = [{"relative_rms": chosen.random(), "largest_error_of_allowed": chosen.random()} for _ in made]
    judged = [
        replace(r, correctness=replace(r.correctness, figures=f)) for r, f in zip(made, figures, strict=True)
    ]
    assert len(pack(receipt_of(store_findings_run(tmp_path, judged)))) <= 4096


@pytest.mark.parametrize(
    ("field", "value"),
    [("machine", {"gpu": "x"}), ("machine", {"cpu": 3}), ("seed", -1), ("seed", 1 << 63), ("budget_s", -1.0)],
)
def test_invalid_data_are_refused(receipt, field, value):
    data = json.loads(zlib.decompress(b64decode(pack(receipt))))
    with pytest.raises(UsageError, match=r"^r\.md: invalid receipt data \("):
        read_receipt(around(json.dumps({**data, field: value}).encode()), "r.md")


def test_many_panels_and_rows_fit_a_comment_of_github(receipt):
    panel = replace(receipt.panels[0], rows=receipt.panels[0].rows * 100)
    many = replace(receipt, panels=(panel,) * 40)
    assert len(visible_of(many)) < 1 << 16
    assert "28 more panels are in the data." in visible_of(many)
    assert read_receipt(to_text(many), "r.md") == many


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "r.md: contains no complete receipt"),
        ("<!-- seqsweep-receipt A -->\nx\n<!-- seqsweep-receipt end -->", r"\(damaged\)"),
        ("<!-- seqsweep-receipt AAAA -->\nx\n<!-- seqsweep-receipt end -->", r"\(damaged\)"),
        (around(b" " * (MOST_BYTES + 1)), f"larger than {MOST_BYTES} bytes"),
        (around(b"\xff"), "invalid receipt data"),
        (around(b"[" * 100_000), "invalid receipt data"),
        (around(b"[]"), "schema None"),
        (around(b'{"schema": 2}'), "schema 2; this seqsweep reads schema 3"),
        (around(b'{"schema": 3}'), "missing required field"),
    ],
)
def test_text_without_a_receipt_is_refused(text, says):
    with pytest.raises(UsageError, match=says):
        read_receipt(text, "r.md")


def test_hostile_text_stays_text(tmp_path):
    named = receipt_of(store_findings_run(tmp_path, records(), command=["seqsweep", f"{NASTY} -->"]))
    text = to_text(named)
    visible = text.partition(" -->\n")[2]
    assert_shown(text, once=False)
    before, _, code = visible.partition("```sh\n")
    assert "<script>" not in before
    assert (code.count("```"), code.partition("```")[0].count("\n")) == (1, 1), "its code is one line"
    assert text.count("-->") - code.partition("\n")[0].count("-->") == 2
    assert read_receipt(text, "r.md") == named


def test_a_name_may_have_two_lines(tmp_path):
    records = [
        replace(r, implementation=f"{r.implementation}@\nx", case=r.case.replace("@", "@\nx@", 1))
        for r in sweep()
    ]
    receipt = receipt_of(store_findings_run(tmp_path, records))
    assert read_receipt(to_text(receipt), "receipt.md") == receipt


def here(*changed, machine=MACHINE["sha256:aa"], **more):
    """Figures of a machine that reproduces everything except the `changed` records."""
    made = {record.case: record for record in (*records(), *changed)}
    return Here(machine, made, **more)


FAILED = record_of("sparse", 4 * K, status="incorrect", correctness=Correctness("exact", False, "whole", {}))
RECALL = record_of(
    "approx",
    4 * K,
    correctness=Correctness("recall", True, "whole", {"recall": 0.98}),
    options={"how": "--> <b>--"},
)
OTHER = {**MACHINE["sha256:aa"], "versions": {"jax": "0.9"}}
MACHINES = {
    "the same": here(),
    "another ratio": here(timed("sparse", 8 * K, 3e-3)),
    "no interval": here(record_of("sparse", 8 * K, timing=timing_of([2e-3]), correctness=PASSED)),
    "an unknown case": Here(MACHINE["sha256:aa"], missing={records()[0].case: "unknown"}),
    "a case that crashes": here(record_of("sparse", 4 * K, status="crashed", reason="signal 11")),
    "a contract that fails": here(FAILED),
    "a contract that fails with another jax": here(FAILED, machine=OTHER),
    "another recall": here(RECALL),
}


def test_each_statement_is_compared_with_a_machines_figures(receipt):
    texts = {}
    for name, found in MACHINES.items():
        checks = check_statements(receipt, found)
        texts[name] = "\n".join(f"{c.outcome}: {text_of(c.about, c.statement)} ({c.why})" for c in checks)
    assert_golden("receipt_checks.txt", scenes(texts))
