"""What records share stands once in their file; each damaged definition takes its users along, named."""

import json
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.record import Profile, StageFigures, Timing
from harness.store.jsonl import encode, lines, names_used, seal, unseal
from harness.store.packing import definitions
from harness.store.packing.definitions import Packer
from harness.store.runs import RunFolder
from tests.records import PASSED, record_of, timing_of

REFERENCE = Path(__file__).parents[3] / "results/reference"
LARGEST = "20261123T205009Z-c7f20ab"


def appended(folder):
    """The records of a stored run as this version writes them, append by append."""
    packer, out, append = Packer(folder._records_to_come()), b"", []
    for line in folder.split()[0]:
        append.append(line.record)
        if line.part[0] == line.part[1]:
            out += encode([record for record in append if record], packer)
            packer.mark_written()
            append = []
    return out


@pytest.fixture(scope="module")
def written():
    return appended(RunFolder(REFERENCE / LARGEST))


def read(text):
    return list(lines(text.splitlines()))


@pytest.mark.parametrize("run", sorted(path.name for path in REFERENCE.iterdir()))
def test_a_kept_run_loses_no_digit(run):
    folder = RunFolder(REFERENCE / run)
    stored = folder.read().records
    again = [line.record for line in read(appended(folder)) if line.record]
    # As text: 1 is 1.0 for Python, and no reader may see one for the other.
    assert [json.dumps(one.to_json(), sort_keys=True) for one in again] == [
        json.dumps(one.to_json(), sort_keys=True) for one in stored
    ]


@pytest.mark.parametrize(
    ("run", "times"),
    [(LARGEST, 3.1), ("20261122T015841Z-071c146", 3.8), ("20261123T072845Z-0ef49a6", 3.9),
     ("20261125T060435Z-3b8424d", 4.7), ("20261126T004309Z-eb086ff", 2.8), ("20261126T051404Z-0ac0629", 1.9)],
)  # fmt: skip
def test_lines_are_shorter_than_whole_records(run, times):
    """Plans repeat from target to target, and little else in a run of six records does."""
    folder = RunFolder(REFERENCE / run)
    whole = b"".join(seal(record.to_json()) for record in folder.read().records)
    assert times * len(appended(folder)) < len(whole)


def test_an_implementation_that_comes_again_is_defined_where_it_comes_first(record):
    first, second = record(1), record(2)
    text = encode([first], Packer({first.as_case.label: 20}))
    (definition,) = [line.data for line in read(text) if line.defines]
    assert unseal(definition)["value"]["implementation"] == first.implementation
    assert [line.record for line in read(text) if line.record] == [first]
    assert not [line.defines for line in read(encode([second], Packer())) if line.defines]


def test_lengths_share_the_rest_of_their_workload(record):
    records = [record(seq) for seq in (1, 2, 3)]
    read_again = read(encode(records, Packer()))
    assert [line.record for line in read_again if line.record] == records
    defined = [unseal(line.data)["value"] for line in read_again if line.defines]
    assert all("seq" not in fields.get("workload", {}) for fields in defined)
    assert sum("workload" in fields for fields in defined) <= 1


def test_a_damaged_definition_takes_its_users_along_and_no_other(written):
    whole = read(written)
    users = {line.number: names_used(line.data) for line in whole if line.record}
    texts = written.splitlines()
    for broken in [line for line in whole if line.defines]:
        index = broken.number - 1
        cut = [*texts[:index], texts[index].replace(b"a", b"b", 1), *texts[index + 1 :]]
        for before, now in zip(whole, lines(cut), strict=True):
            if now.number == broken.number:
                assert (now.defines, bool(now.problem)) == ("", True)
            elif broken.defines in users.get(now.number, ()):
                assert now.record is None
                assert f"definition {broken.defines}" in now.problem
            else:
                assert (now.record, now.problem) == (before.record, "")


def test_a_definition_with_a_new_checksum_and_other_content_is_none(written):
    (first, *_) = written.splitlines()
    data = json.loads(first)
    del data["crc32"]
    text = json.dumps(data, sort_keys=True, separators=(",", ":")).replace('"seed":0', '"seed":1').encode()
    (line,) = lines([b'%b,"crc32":"%08x"}' % (text[:-1], zlib.crc32(text))])
    assert "not that of its content" in line.problem


def test_definitions_that_were_not_written_are_written_again(record):
    packer, records = Packer(), [record(1), record(2)]
    encode(records, packer)  # and the disk was full
    assert [line.record for line in read(encode(records, packer)) if line.record] == records


def test_what_was_written_long_ago_is_forgotten_and_defined_again(record, monkeypatch):
    monkeypatch.setattr(definitions, "MOST_NAMES", 5)
    packer, text, records = Packer(), b"", [record(number) for number in range(1, 40)]
    for one in records:
        text += encode([one], packer)
        packer.mark_written()
    read_again = read(text)
    assert [line.record for line in read_again if line.record] == records
    defined = Counter(line.defines for line in read_again if line.defines)
    assert min(defined.values()) > 1
    assert len(packer._seen) < 20


@pytest.mark.parametrize(
    "samples",
    [(0.1, 0.2, 0.3), (1e-9, 1.0), (5e-324, 1e300), (1 / 3, 2 / 3), (2.0**-40, 2.0**-39), (3.5, 4096.5)],
)
@pytest.mark.parametrize("inner", [1, 7, 1000])
def test_readings_come_back_as_they_were(record, samples, inner):
    one = record(timing=timing_of(samples, inner=inner))
    (line,) = [line for line in read(encode([one], Packer())) if line.record]
    assert line.record.timing.samples_s == samples


@pytest.mark.parametrize("rounds", [(0, 0, 1, 1), (3, 4, 4, 9), (5, 2, 2, 2), (7, 7, 7, 7), (0, 1, 3, 2)])
def test_rounds_come_back_in_whatever_order(record, rounds):
    one = record(timing=timing_of((1.0, 2.0, 3.0, 4.0), rounds))
    (line,) = [line for line in read(encode([one], Packer())) if line.record]
    assert line.record.timing.round == rounds


@pytest.mark.parametrize("runs", [[[0, 1, 10**12]], [[0, -1, -2]], [[0, 2, 2]], [], [[0, 0, 2]]])
def test_rounds_that_do_not_fit_the_readings_are_refused_before_they_fill_memory(record, runs):
    (line,) = encode([record()], Packer()).splitlines()
    data = json.loads(line)
    del data["crc32"]
    data["timing"]["runs"] = runs
    text = json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
    (read_again,) = lines([b'%b,"crc32":"%08x"}' % (text[:-1], zlib.crc32(text))])
    assert "not as many as its rounds" in read_again.problem


def test_another_value_of_a_field_is_never_taken_from_a_definition(record):
    """Options too short for a definition, beside an implementation that has one."""
    records = [record(1, options={"k": k}) for k in (1, 2)] + [record(1)]
    stored = [line.record for line in read(encode(records, Packer())) if line.record]
    assert stored == records
    assert [one.case for one in stored] == [one.case for one in records]


def test_the_record_is_independent_of_what_was_read_before(record):
    first, second = record(1), replace(record(1), replicate=1, timing=timing_of((3.0,)))
    assert isinstance(second.timing, Timing)
    assert [line.record for line in read(encode([first, second], Packer())) if line.record] == [first, second]


def test_a_long_profile_is_squeezed_and_one_that_stands_open_is_read():
    """Files of before have it open, as whole values; one that is torn names its line."""
    stages = tuple(StageFigures(f"stage {n}", (n / 7 + 1,) * 8, 1) for n in range(9))
    profile, timing = Profile((9.0,) * 8, stages), timing_of([1.0] * 8)
    record = record_of("a", 1024, timing=timing, correctness=PASSED, profile=profile)
    (line,) = encode([record], Packer()).splitlines()
    data = unseal(line)
    assert isinstance(data["profile"], str)
    assert len(line) < len(json.dumps(record.to_json())) / 2
    opened = seal({**data, "profile": record.to_json()["profile"]})
    for whole in (line, opened):
        assert next(lines([whole])).record == record
    torn = next(lines([seal({**data, "profile": data["profile"][:-8]})]))
    assert torn.record is None
    assert torn.problem
    short = replace(record, profile=Profile((9.0,), (StageFigures("", (1.0,), 1),)))
    assert isinstance(unseal(encode([short], Packer()).splitlines()[0])["profile"], dict)
