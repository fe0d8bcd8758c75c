"""`report`, `verify` and `show --record`: files, exit codes, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.commands.findings import LOCK, gate_sentence
from harness.gate.outcome import TIME, UNCHANGED, VANISHED, CaseVerdict, GateOutcome
from harness.gate.store import GateFolder, GateHeader
from harness.store.runs import RunFolder
from tests.findings.kept import store_kept_run, sweep

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def call(tmp_path, capsysbinary, monkeypatch):
    store_kept_run(tmp_path / "results", sweep())
    (tmp_path / LOCK).write_text("jax==0.10.2\n")
    (tmp_path / "bench.yaml").write_text(
        "default: [mask]\nsuites:\n  mask: {family: mask, seq: [4Ki], rows: 1, topk: 1}\n"
    )
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = call_app(app, words)
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def test_a_file_is_made_then_filled_then_stale(call, tmp_path):
    page = tmp_path / "FINDINGS.md"
    code, out, _ = call("report", "--into", "FINDINGS.md")
    assert (code, out) == (0, "wrote FINDINGS.md\nwrote findings/mask-speedup.svg\n")
    assert f"pip install -c {LOCK}" in page.read_text()
    assert "](findings/mask-speedup.svg)" in page.read_text()
    page.write_text(page.read_text().replace("# Findings", "# Mine"))
    assert call("report", "--into", "FINDINGS.md", "--check")[0] == 0, "prose is nobody's business"
    page.write_text(page.read_text().replace("2.00×", "9.00×"))
    stale = call("report", "--into", "FINDINGS.md", "--check")
    assert stale[:2] == (1, "FINDINGS.md is not what its records say\n")
    assert "9.00×" in page.read_text()
    (tmp_path / "findings" / "mask-speedup.svg").unlink()
    assert (
        call("report", "--into", "FINDINGS.md")[1] == "wrote FINDINGS.md\nwrote findings/mask-speedup.svg\n"
    )


def test_prose_that_is_no_utf_8_is_refused_and_not_replaced(call, tmp_path):
    call("report", "--into", "FINDINGS.md")
    page = tmp_path / "FINDINGS.md"
    page.write_bytes(page.read_bytes().replace(b"# Findings", "# Résultats".encode("latin-1")))
    before = page.read_bytes()
    code, _, err = call("report", "--into", "FINDINGS.md")
    assert (code, err) == (2, "seqsweep: FINDINGS.md:1: byte 0xe9 is not UTF-8; save the file as UTF-8\n")
    assert page.read_bytes() == before


def test_a_file_keeps_its_line_ends_its_mode_and_the_link_to_it(call, tmp_path):
    call("report", "--into", "FINDINGS.md")
    page = tmp_path / "FINDINGS.md"
    page.write_bytes(page.read_bytes().replace(b"\n", b"\r\n"))
    page.chmod(0o600)
    before = page.read_bytes()
    (tmp_path / "LINK.md").symlink_to("FINDINGS.md")
    assert call("report", "--into", "FINDINGS.md", "--check")[0] == 0
    page.write_bytes(before.replace("2.00×".encode(), b"9"))
    assert call("report", "--into", "FINDINGS.md")[1] == "wrote FINDINGS.md\n"
    assert page.read_bytes() == before
    assert page.stat().st_mode & 0o777 == 0o600
    page.write_bytes(before.replace("2.00×".encode(), b"9"))
    assert call("report", "--into", "LINK.md")[0] == 0
    assert (tmp_path / "LINK.md").is_symlink()
    assert b"2.00" in page.read_bytes()


def test_a_damaged_gate_is_told_and_stops_no_receipt(call, tmp_path):
    gate = GateFolder.create(tmp_path / "results", "20261122T120000Z-bbbbbbb", GateHeader())
    (gate.path / "gate.json").write_text('{"outcome": {"kind": 3}}')
    code, out, err = call("report", "--pr")
    assert (code, out.startswith("<!-- seqsweep-receipt ")) == (0, True)
    assert err.startswith(f"left out: {gate.path}/gate.json: has another form")


def test_without_a_file_it_is_printed(call, tmp_path):
    code, out, err = call("report", "mask")
    assert (code, err) == (0, "")
    assert out.startswith("# Findings\n\n## What was found\n")
    assert not (tmp_path / "findings").exists()
    assert call("report", "--json")[1].startswith('{"sections":[{"key":"verdict"')


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["report", "maks"], 'no run has a suite "maks"; nearest: "mask"'),
        (["report", "--check"], "--check: goes with --into; it compares that file"),
        (["report", "--pr", "--into", "x.md"], "--into does not go with --pr"),
        (["report", "--pr", "--run", "one,one"], "a receipt is of one run, not of 2"),
        (["report", "--chart", "https://e.org/a.svg"], "--chart: goes with --pr"),
        (
            ["report", "--pr", "--chart", "https://e.org/<b>"],
            '--chart: "https://e.org/<b>" is no http(s) URL',
        ),
        (["report", "--run", "two"], 'no run "two"'),
        (["verify", "none.md"], "none.md: does not exist"),
        (["verify", "bench.yaml"], "bench.yaml: holds no whole receipt"),
        (["verify", "bench.yaml", "--limit", "0"], "--limit 0 s: must be longer than 0 s"),
        (["show", "--record", "wxyz"], '"wxyz" is no hash'),
        (["show", "--record", "abc"], '"abc" is no hash; write 4 or more of its digits'),
        (["show", "--record", "0000"], "none of 1 runs has a record"),
    ],
)
def test_what_cannot_be_is_one_sentence(call, words, says):
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert says in err


def test_a_record_is_printed_by_the_hash_in_a_row(call, tmp_path):
    row = next(line for line in call("report")[1].splitlines() if line.startswith("| 8Ki | sparse"))
    digest = row.split(" | ")[-1].removesuffix(" |")
    code, out, _ = call("show", "--record", digest)
    assert code == 0
    assert 'case: "mask/sparse@batch=1,dtype=f32,seq=8192:fwd:cpu"' in out.splitlines()
    run = tmp_path / "results" / "runs" / "one"
    run.rename(run.parent.parent / "moved")
    assert call("show", "--record", digest)[0] == 2
    assert call("show", "--record", digest, "--run", str(run.parent.parent / "moved"))[0] == 0
    assert RunFolder(run.parent.parent / "moved").record_of_hash(digest) is not None


def test_an_edited_receipt_ends_with_1_before_anything_runs(call, tmp_path):
    receipt = call("report", "--pr")[1]
    (tmp_path / "r.md").write_text(receipt.replace("2.000×", "3.000×"))
    code, out, _ = call("verify", "r.md")
    assert code == 1
    assert out.startswith("r.md was edited: it reads ")


def test_a_receipt_of_cases_that_are_not_here_ends_with_3(call, tmp_path):
    (tmp_path / "r.md").write_text(call("report", "--pr")[1])
    code, out, err = call("verify", "r.md")
    assert code == 3
    assert err == (
        "4 cases to time for 4.0 s each, 1 to check, 1 plans to compile: about 22 s; at most 10 m 0 s "
        "(--limit)\n"
    )
    assert out.count("cannot be checked here: ") == out.count("\n") // 2
    assert 'unknown implementation "mask/' in out or "is called" in out


def test_the_findings_of_this_project_are_what_its_kept_runs_say(monkeypatch):
    """As `make findings` writes them; their prose is held to nothing."""
    monkeypatch.chdir(ROOT)
    runs = [word for run in sorted(Path("results/reference").iterdir()) for word in ("--run", str(run))]
    assert call_app(app, ["report", *runs, "--into", "docs/FINDINGS.md", "--check"]) == 0


OWN, OTHERS = {"mask/dense": "closure:4", "mask/sparse": "closure:1"}, {"mask/sparse": "closure:2"}
ASKED = tuple(dict.fromkeys(record.case for record in sweep()))


def outcome_of(cases=ASKED, slowdown=("mask",), verdict=UNCHANGED, **more):
    verdicts = tuple(CaseVerdict(case, verdict, "within Δ") for case in cases)
    return GateOutcome(TIME, "main at 1a2b3c4", verdicts, slowdown=dict.fromkeys(slowdown, 0.05), **more)


def store_gates(results, *headers):
    for number, header in enumerate(headers):
        GateFolder.create(results, f"2026112{number}T000000Z-aaaaaaa", header)


def test_a_receipt_has_the_gate_of_its_own_code_and_no_newer_one(tmp_path):
    run = store_kept_run(tmp_path, sweep(), sources=OWN)
    store_gates(
        *(tmp_path, GateHeader(sources=OWN, outcome=outcome_of())),
        GateHeader(sources={**OWN, **OTHERS}, outcome=outcome_of()),
        GateHeader(sources={**OWN, "topk/exact": "closure:3"}),
        GateHeader(outcome=outcome_of()),
        GateHeader(sources={"topk/exact": "closure:3"}, outcome=outcome_of()),
    )
    assert gate_sentence(tmp_path, run) == "unchanged against main at 1a2b3c4 (gate 20261120T000000Z-aaaaaaa)"
    changed = store_kept_run(tmp_path / "changed", sweep(), sources={"mask/sparse": "closure:9"})
    assert gate_sentence(tmp_path, changed) == ""


@pytest.mark.parametrize(
    "outcome",
    [
        outcome_of(ASKED[:-1]),
        outcome_of([*ASKED, ASKED[0].replace("seq=4096", "seq=512")]),
        outcome_of([case.replace(":fwd:", ":fwd_bwd:") for case in ASKED]),
        outcome_of(slowdown=("mask", "topk")),
        outcome_of(slowdown=("mask_short",)),
    ],
    ids=["fewer cases", "another length", "another mode", "another suite too", "another suite"],
)
def test_a_gate_of_another_question_is_not_printed(tmp_path, outcome):
    store_gates(tmp_path, GateHeader(sources=OWN, outcome=outcome))
    assert gate_sentence(tmp_path, store_kept_run(tmp_path, sweep(), sources=OWN)) == ""


def test_cases_that_run_on_neither_side_or_left_the_candidate_are_of_the_same_question(tmp_path):
    told = outcome_of(ASKED[1:], left_out={ASKED[0]: "needs AMX", "mask/old@seq=1:fwd:cpu": "gone"})
    gone = CaseVerdict("mask/gone@seq=1:fwd:cpu", VANISHED, "the base has it")
    store_gates(tmp_path, GateHeader(sources=OWN, outcome=replace(told, cases=(*told.cases, gone))))
    said = gate_sentence(tmp_path, store_kept_run(tmp_path, sweep(), sources=OWN))
    assert said.startswith("vanished against main")
