"""`report`, `verify` and `show --record`: files, exit codes, and what is refused."""

from pathlib import Path

import pytest

from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.commands.findings import LOCK
from harness.store.runs import RunFolder
from tests.findings.stored import store_findings_run, sweep

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def call(tmp_path, capsysbinary, monkeypatch):
    store_findings_run(tmp_path / "results", sweep())
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


def test_a_file_is_created_then_updated_then_stale(call, tmp_path):
    page = tmp_path / "FINDINGS.md"
    code, out, _ = call("report", "--into", "FINDINGS.md")
    assert (code, out) == (0, "wrote FINDINGS.md\nwrote findings/mask-speedup.svg\n")
    assert f"pip install -c {LOCK}" in page.read_text()
    assert "](findings/mask-speedup.svg)" in page.read_text()
    page.write_text(page.read_text().replace("# Findings", "# Mine"))
    assert call("report", "--into", "FINDINGS.md", "--check")[0] == 0, "prose is nobody's business"
    page.write_text(page.read_text().replace("2.00×", "9.00×"))
    stale = call("report", "--into", "FINDINGS.md", "--check")
    assert stale[:2] == (1, "FINDINGS.md is stale\n")
    assert "9.00×" in page.read_text()
    (tmp_path / "findings" / "mask-speedup.svg").unlink()
    assert (
        call("report", "--into", "FINDINGS.md")[1] == "wrote FINDINGS.md\nwrote findings/mask-speedup.svg\n"
    )


def test_text_that_is_not_utf_8_is_refused(call, tmp_path):
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


def test_a_receipt_of_unknown_cases_exits_with_3(call, tmp_path):
    (tmp_path / "r.md").write_text(call("report", "--pr")[1])
    code, out, err = call("verify", "r.md")
    assert code == 3
    assert err == ("timing 4 cases for 4.0 s each and checking 1: about 21 s, at most 10 m 0 s (--limit)\n")
    assert out.count("cannot be checked here: ") == out.count("\n") // 2
    assert 'unknown implementation "mask/' in out or "is called" in out


def test_the_findings_of_this_project_are_up_to_date(monkeypatch):
    """As `make findings` writes them. Text outside the blocks is not checked."""
    monkeypatch.chdir(ROOT)
    runs = [word for run in sorted(Path("results/reference").iterdir()) for word in ("--run", str(run))]
    assert call_app(app, ["report", *runs, "--into", "docs/FINDINGS.md", "--check"]) == 0
