"""What a gate keeps: whole lines, whatever happened while one was written, and which gate is the newest."""

import json
import os
from dataclasses import asdict, replace

import pytest

from harness.core.errors import MachineError, UsageError
from harness.gate.case_evidence import CaseEvidence, Rounds
from harness.gate.outcome import REGRESSED, TIME, CaseVerdict, GateOutcome
from harness.gate.store import HEADER, PAIRS, GateFolder, GateHeader, newest
from harness.store import atomic
from tests.stores import full_disk


def rounds_of(pair, case, effect):
    return Rounds(pair, case, (effect,) * 5, (0.1, 0.1), 0.0)


FIRST = [rounds_of(1, "a", 0.01), rounds_of(1, "b", -0.02)]
OUTCOME = GateOutcome(TIME, "HEAD", (CaseVerdict("a", REGRESSED, "slower", effect=0.5),))


@pytest.fixture
def new_gate(tmp_path):
    """Makes a gate; ids sort by time."""

    def make(gate_id="20261120T113000Z-1", **header):
        return GateFolder.create(tmp_path, gate_id, GateHeader(**{"request": "sha256:a", **header}))

    return make


def test_what_was_written_is_read_again(new_gate, tmp_path):
    evidence = {"a": CaseEvidence(0.05, first=(0.5,), levels_s=((0.3, 0.2),))}
    gate = new_gate(outcome=OUTCOME, evidence=evidence, sources={"a": "sha256:b"})
    assert gate.path == tmp_path / "gates" / "20261120T113000Z-1"
    assert gate.rounds() == []
    gate.append(FIRST)
    gate.append([])
    gate.append([rounds_of(2, "a", 0.0)])
    again = GateFolder(gate.path)
    assert again.header == GateHeader(
        request="sha256:a", outcome=OUTCOME, evidence=evidence, sources={"a": "sha256:b"}
    )
    assert again.rounds() == [*FIRST, rounds_of(2, "a", 0.0)]


def test_a_line_says_its_effect(new_gate):
    gate = new_gate()
    gate.append([Rounds(7, "a", (0.1, 0.3, 0.2), (1.2e-3, 1e-3), 0.0)])
    line = json.loads((gate.path / PAIRS).read_bytes())
    assert (line["pair"], line["effect"], line["levels_s"]) == (7, 0.2, [1.2e-3, 1e-3])


def test_a_full_disk_leaves_the_pairs_before(new_gate, monkeypatch):
    gate = new_gate()
    gate.append(FIRST)
    write = os.write

    def partly(descriptor, data):
        write(descriptor, bytes(data[:9]))
        full_disk()

    monkeypatch.setattr(atomic.os, "write", partly)
    with pytest.raises(MachineError, match=r"pairs\.jsonl: cannot be written \(No space left on device\)"):
        gate.append([rounds_of(2, "a", 0.5)])
    monkeypatch.undo()
    assert gate.rounds() == FIRST
    assert (gate.path / PAIRS).read_bytes().endswith(b"\n")


def test_ctrl_c_in_a_write_leaves_them_too(new_gate, monkeypatch):
    gate = new_gate()
    gate.append(FIRST)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gate.append([rounds_of(2, "a", 0.5)])
    assert gate.rounds() == FIRST


def test_a_header_changes_as_a_whole(new_gate, monkeypatch):
    gate = new_gate()
    gate.write_header(replace(gate.header, outcome=OUTCOME))
    assert gate.header.outcome == OUTCOME
    monkeypatch.setattr(atomic.os, "fsync", full_disk)
    with pytest.raises(MachineError, match=r"gate\.json: cannot be written"):
        gate.write_header(GateHeader())
    assert gate.header.request == "sha256:a"
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


@pytest.mark.parametrize(
    "line",
    [
        b"3",
        b'{"pair": 1, "case": "a", "effect": 0.5}',
        json.dumps(asdict(rounds_of("x", "a", 1))).encode(),
        b"[" * 9999,
    ],
)
def test_a_line_that_is_no_pair_is_passed_over(new_gate, line):
    gate = new_gate()
    gate.append(FIRST)
    with (gate.path / PAIRS).open("ab") as file:
        file.write(line + b"\n")
    assert gate.rounds() == FIRST


def test_a_gate_is_never_written_over(new_gate):
    new_gate()
    with pytest.raises(MachineError, match="File exists"):
        new_gate()


def test_results_that_cannot_be_written_are_told_at_once(tmp_path):
    (tmp_path / "results").write_text("a file, not a folder")
    with pytest.raises(MachineError, match="--results"):
        GateFolder.create(tmp_path / "results", "one", GateHeader())


def test_the_newest_is_the_last_that_was_started(new_gate, tmp_path):
    for second in (1, 3, 2):
        new_gate(f"20261120T11300{second}Z-x")
    assert newest(tmp_path).path.name == "20261120T113003Z-x"


def test_only_an_unfinished_gate_of_the_same_request_goes_on(new_gate, tmp_path):
    new_gate("20261120T113001Z-x")
    new_gate("20261120T113002Z-x")
    new_gate("20261120T113003Z-x", outcome=OUTCOME)
    new_gate("20261120T113004Z-x", request="sha256:b")
    assert newest(tmp_path, "sha256:a").path.name == "20261120T113002Z-x"
    assert newest(tmp_path, "sha256:b").path.name == "20261120T113004Z-x"
    with pytest.raises(UsageError, match="no interrupted gate of these cases, sides and sources"):
        newest(tmp_path, "sha256:c")


def test_without_any_gate_the_remedy_is_one(tmp_path):
    with pytest.raises(UsageError, match=r"no gate is kept in .*gates; run one with: seqsweep gate"):
        newest(tmp_path)
    (tmp_path / "gates" / "empty").mkdir(parents=True)
    with pytest.raises(UsageError, match="no gate is kept"):
        newest(tmp_path)
    with pytest.raises(UsageError, match="leave --resume away"):
        newest(tmp_path, "sha256:a")


def test_two_resumes_of_one_gate_write_after_each_other(new_gate):
    gate = new_gate()
    with gate.writing(pytest.fail), pytest.raises(MachineError) as refused, gate.writing(pytest.fail):
        pytest.fail("both of them write")
    assert str(refused.value).startswith(f"gate {gate.path.name} is being written by process {os.getpid()} ")
    assert refused.value.exit_code == 5
    with gate.writing(pytest.fail):
        gate.append(FIRST)


def test_a_changed_byte_of_a_pair_is_no_other_effect(new_gate):
    gate = new_gate()
    gate.append(FIRST)
    path = gate.path / PAIRS
    whole = path.read_bytes()
    for index in range(len(whole)):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :])
        assert all(rounds in FIRST for rounds in gate.rounds())


def test_pairs_of_earlier_versions_have_no_checksum_and_are_read(new_gate):
    gate = new_gate()
    gate.append(FIRST)
    path = gate.path / PAIRS
    data = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_bytes(b"".join(json.dumps({**each, "crc32": None}).encode() + b"\n" for each in data))
    assert gate.rounds() == []
    for each in data:
        del each["crc32"]
    path.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in data))
    assert gate.rounds() == FIRST
