import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.record import Checked, Correctness, Cost
from harness.core.static_figures import Collective
from harness.store.jsonl import part_of_line, unseal
from tests.records import static_of, timing_of
from tests.store.conftest import decode, encode, make

names = st.text(min_size=1, max_size=12)
counts = st.integers(0, 2**63 - 1)
finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.dictionaries(names, st.one_of(st.none(), st.booleans(), counts, finite, names), max_size=3)
seconds = st.floats(1e-9, 1e3)


@settings(deadline=None, max_examples=60)  # speed decides nothing here
@given(values, values, values, st.lists(seconds, min_size=1, max_size=5), names, counts, finite)
def test_a_record_survives_being_stored(options, facts, figures, samples, text, count, number):
    """Whatever its texts, numbers and mappings hold; the form of each part is the class's own affair."""
    static = static_of(
        temp_bytes=count, bytes_accessed=abs(number), compile_s=abs(number), program=text,
        custom_calls=(text,), opcodes={text: count},
        collectives=(Collective(text, count, count),), warnings=(text,), fits=False, body_only=True,
    )  # fmt: skip
    record = make(
        count, options=options, facts=facts, static={text: static}, cost=Cost(abs(number), None, abs(number)),
        correctness=Correctness(text, True, "rows", figures), timing=timing_of(samples, warnings=(text,)),
        checks=(Checked(text, text, passed=False, figures=figures),), side=text, wall_s=number,
    )  # fmt: skip
    line = encode(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == record
    assert encode(decode(line)) == line


def test_the_line_reads_as_the_interface_says(record):
    data = json.loads(encode(record()))
    assert list(data) == [*sorted(data.keys() - {"crc32"}), "crc32"]
    assert (data["schema"], data["wall_s"], data["timing"]["median_s"]) == (1, 0.8, 0.00175)
    assert len(data["crc32"]) == 8
    assert int(data["crc32"], 16) >= 0
    assert part_of_line(data) == (1, 1)


def test_rewriting_a_line_without_changing_it_keeps_it_valid(record):
    original = record()
    data = json.loads(encode(original))
    rewritten = json.dumps(dict(sorted(data.items(), reverse=True)), indent=1)
    assert decode(rewritten.encode()) == original


def test_fields_of_a_later_version_are_checked_and_left_out(record):
    data = unseal(encode(record()))
    later = {**data, "colour": "red"}
    line = reseal(later)
    assert decode(line) == record()
    with pytest.raises(ValueError, match="checksum"):
        decode(line.replace(b"red", b"rad"))


def reseal(data):
    import zlib

    checksum = zlib.crc32(msgspec.json.encode(data, order="deterministic"))
    return msgspec.json.encode({**data, "crc32": f"{checksum:08x}"})


def test_no_single_changed_byte_passes(record):
    line = encode(record()).rstrip(b"\n")
    original = decode(line)
    for index in range(len(line)):
        changed = line[:index] + bytes([line[index] ^ 1]) + line[index + 1 :]
        try:
            assert decode(changed) == original  # spelling only, such as E for e in a number
        except ValueError:
            continue


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"\xff\xfe", "incomplete"),
        (b"[1, 2]", "no crc32"),
        (b'{"schema": 1}', "no crc32"),
        (reseal({"schema": 3}), "schema 3 is not 1"),
        (reseal({"append": [1, 1], "schema": 3}), "schema 3 is not 1"),
        (reseal({"schema": 2}), "schema 2 is not 1; use the seqsweep that wrote it"),
        (reseal({"schema": 1}), "not a record"),
        (reseal({"schema": 1, "static": [1]}), "not a record"),
        (reseal({"schema": 1, "timing": {"samples_s": []}}), "not a record"),
    ],
)
def test_what_is_no_record(line, message):
    with pytest.raises(ValueError, match=message):
        decode(line)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"seq": "x"}, r"Expected `int`, got `str` - at `\$.seq`"),
        ({"cost": {"flops": "many"}}, r"got `str` - at `\$.cost.flops`"),
    ],
)
def test_a_sealed_record_with_a_value_of_another_type_is_refused_with_its_path(record, changed, says):
    with pytest.raises(ValueError, match=f"not a record: .*{says}"):
        decode(reseal({**unseal(encode(record())), **changed}))


def test_value_without_json_form_is_an_error(record):
    with pytest.raises(ValueError, match=r"mask/scatter\[a=.* cannot be stored"):
        encode(record(options={"a": object()}))
