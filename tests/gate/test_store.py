"""What a gate keeps: its outcome and evidence, and which gate is the newest."""

import json
from dataclasses import replace

import pytest

from harness.core.errors import MachineError, UsageError
from harness.gate.outcome import REGRESSED, TIME, CaseVerdict, GateOutcome
from harness.gate.store import HEADER, StoredGate, new_folder, newest, write
from harness.gate.timed.decision import CaseEvidence

OUTCOME = GateOutcome(TIME, "HEAD", (CaseVerdict("a", REGRESSED, "slower", effect=0.5),))
GATE = StoredGate(
    ("gate",), "2026-11-20T11:30:00+00:00", {"a": "sha256:b"}, OUTCOME,
    {"a": CaseEvidence(0.05, first=(0.5,), levels_s=((0.3, 0.2),))},
)  # fmt: skip


def test_the_newest_that_was_written_is_read_again(tmp_path):
    for second in (1, 3, 2):
        gate = replace(GATE, outcome=replace(OUTCOME, base=f"HEAD~{second}"))
        write(new_folder(tmp_path, f"20261120T11300{second}Z-x"), gate)
    new_folder(tmp_path, "20261120T113004Z-x")  # of a gate that was killed
    assert newest(tmp_path) == replace(GATE, outcome=replace(OUTCOME, base="HEAD~3"))


def test_without_any_gate_the_remedy_is_one(tmp_path):
    with pytest.raises(UsageError, match=r"no gate is kept in .*gates; run one with: seqsweep gate"):
        newest(tmp_path)


def written(changes):
    data = {**json.loads(json.dumps({"command": [], "started": "", "sources": {}, "evidence": {}}))}
    return json.dumps({**data, "outcome": OUTCOME.to_json(), **changes}).encode()


@pytest.mark.parametrize(
    "damaged",
    [
        *(b"", b'{"request": "sha', b"[]", b"\xff"),
        *map(
            written,
            (
                {"command": 3},
                {"outcome": None},
                {"outcome": {"verdict": "unchanged"}},
                {"evidence": {"a": {}}},
                {"sources": []},
            ),
        ),
    ],
)
def test_a_damaged_gate_is_a_sentence(tmp_path, damaged):
    folder = new_folder(tmp_path, "one")
    (folder / HEADER).write_bytes(damaged)
    with pytest.raises(UsageError, match=r"gate\.json: .*; remove its folder") as caught:
        newest(tmp_path)
    assert str(folder) in str(caught.value)


def test_a_gate_is_never_written_over_and_results_that_cannot_be_written_are_told_at_once(tmp_path):
    new_folder(tmp_path, "one")
    with pytest.raises(MachineError, match="File exists"):
        new_folder(tmp_path, "one")
    (tmp_path / "results").write_text("a file, not a folder")
    with pytest.raises(MachineError, match="--results"):
        new_folder(tmp_path / "results", "one")
