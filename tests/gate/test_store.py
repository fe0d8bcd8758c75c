"""What a gate keeps: its outcome and evidence, and which gate is the newest."""

import json
from dataclasses import replace

import pytest

from harness.core.errors import MachineError, UsageError
from harness.gate.outcome import REGRESSED, TIME, CaseVerdict, GateOutcome
from harness.gate.store import HEADER, GateFolder, GateHeader, newest
from harness.gate.timed.decision import CaseEvidence
from harness.store import atomic
from tests.stores import full_disk

OUTCOME = GateOutcome(TIME, "HEAD", (CaseVerdict("a", REGRESSED, "slower", effect=0.5),))


@pytest.fixture
def new_gate(tmp_path):
    """Makes a gate; ids sort by time."""

    def make(gate_id="20261120T113000Z-1", **header):
        return GateFolder.create(tmp_path, gate_id, GateHeader(**header))

    return make


def test_what_was_written_is_read_again(new_gate, tmp_path):
    evidence = {"a": CaseEvidence(0.05, first=(0.5,), levels_s=((0.3, 0.2),))}
    gate = new_gate(outcome=OUTCOME, evidence=evidence, sources={"a": "sha256:b"})
    assert gate.path == tmp_path / "gates" / "20261120T113000Z-1"
    again = GateFolder(gate.path).header
    assert again == GateHeader(outcome=OUTCOME, evidence=evidence, sources={"a": "sha256:b"})


def test_a_header_changes_as_a_whole(new_gate, monkeypatch):
    gate = new_gate()
    gate.write_header(replace(gate.header, outcome=OUTCOME))
    assert gate.header.outcome == OUTCOME
    monkeypatch.setattr(atomic.os, "fsync", full_disk)
    with pytest.raises(MachineError, match=r"gate\.json: cannot be written"):
        gate.write_header(GateHeader())
    assert gate.header.outcome == OUTCOME
    assert [path.name for path in gate.path.iterdir()] == [HEADER]


@pytest.mark.parametrize("damaged", [b"", b'{"request": "sha', b"[]", b"\xff"])
def test_a_damaged_header_is_a_sentence(new_gate, damaged):
    gate = new_gate()
    (gate.path / HEADER).write_bytes(damaged)
    with pytest.raises(UsageError, match=r"gate\.json: .*; remove its folder") as caught:
        _ = gate.header
    assert str(gate.path) in str(caught.value)


@pytest.mark.parametrize(
    "header",
    [
        {"command": 3},
        {"outcome": []},
        {"outcome": {"verdict": "unchanged"}},
        {"evidence": {"a": {}}},
        {"sources": []},
    ],
)
def test_a_header_of_another_form_is_a_sentence(new_gate, header):
    gate = new_gate()
    (gate.path / HEADER).write_text(json.dumps(header))
    with pytest.raises(UsageError, match=r"gate\.json: has another form .*; remove its folder"):
        _ = gate.header


def test_an_effect_that_is_none_is_told(new_gate):
    gate = new_gate(outcome=OUTCOME)
    header = gate.path / HEADER
    header.write_text(header.read_text().replace("0.5", "1e300"))
    with pytest.raises(UsageError, match=r"form \(an effect of 1e\+300 is no logarithm of a ratio"):
        _ = gate.header


def test_a_gate_is_never_written_over(new_gate):
    new_gate()
    with pytest.raises(MachineError, match="File exists"):
        new_gate()


def test_results_that_cannot_be_written_are_told_at_once(tmp_path):
    (tmp_path / "results").write_text("a file, not a folder")
    with pytest.raises(MachineError, match="--results"):
        GateFolder.create(tmp_path / "results", "one", GateHeader())


def test_the_newest_is_the_last_that_was_started_and_has_ended(new_gate, tmp_path):
    for second in (1, 3, 2):
        outcome = replace(OUTCOME, base=f"HEAD~{second}")
        new_gate(f"20261120T11300{second}Z-x", outcome=outcome, evidence={"a": CaseEvidence(0.05)})
    new_gate("20261120T113004Z-x")
    outcome, evidence = newest(tmp_path)
    assert (outcome.base, list(evidence)) == ("HEAD~3", ["a"])


def test_without_any_gate_the_remedy_is_one(new_gate, tmp_path):
    with pytest.raises(UsageError, match=r"no gate is kept in .*gates; run one with: seqsweep gate"):
        newest(tmp_path)
    (tmp_path / "gates" / "empty").mkdir(parents=True)
    new_gate()
    with pytest.raises(UsageError, match="no gate is kept"):
        newest(tmp_path)


def test_a_gate_that_decided_nothing_leaves_no_folder(new_gate, tmp_path):
    new_gate().discard()
    assert list((tmp_path / "gates").iterdir()) == []
