"""A hostile receipt runs only code that its reader has."""

from dataclasses import replace

from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.findings.receipt import receipt_of
from harness.findings.receipt_text import to_text
from tests.findings.stored import store_findings_run, sweep

BENCH = "suites:\n  mask: {family: mask, seq: [256], topk: 32, baseline: broadcast, impls: [broadcast]}\n"


def test_plugins_configuration_and_environment_of_a_receipt_are_ignored(tmp_path, monkeypatch, capsys):
    marker, evil = tmp_path / "ran", tmp_path / "evil.py"
    evil.write_text(f"open({str(marker)!r}, 'w')\n")
    (tmp_path / "bench.yaml").write_text(BENCH)
    (tmp_path / "evil.yaml").write_text(f"plugins: [{evil}]\n{BENCH}")
    made = [
        replace(
            record,
            family=str(evil),
            implementation=record.implementation.replace("mask/", f"{evil}/"),
            case=record.case.replace("mask/", f"{evil}/"),
        )
        for record in sweep()
    ]
    monkeypatch.chdir(tmp_path)
    for records in (made, sweep()):
        receipt = replace(
            receipt_of(store_findings_run(tmp_path / str(len(list(tmp_path.iterdir()))), records)),
            command=f"PYTHONPATH={tmp_path} seqsweep run --plugin {evil} --config {tmp_path / 'evil.yaml'}",
            machine={"flags": {"PYTHONSTARTUP": str(evil), "LD_PRELOAD": str(evil)}},
        )
        (tmp_path / "receipt.md").write_text(to_text(receipt))
        code = call_app(app, ["verify", "receipt.md", "--json"])
        said = capsys.readouterr()
        assert code in {0, 1, 2, 3}, said.err
        assert "Traceback" not in said.err
        assert '"holds here"' not in said.out
        assert "differs here" not in said.out
        assert "cannot be checked here" in said.out
    assert not marker.exists()
