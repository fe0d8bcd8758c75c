"""A file that a workload names: called by its path and its content."""

import hashlib
import os
from pathlib import Path

import pytest

from harness.core.workload import Field, axis, fields_of
from harness.core.workload_files import LengthBin, identify_captured, identify_table, is_captured, read_table


def test_a_file_is_called_by_its_content(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npz").write_bytes(b"one")
    name = identify_captured("a.npz")
    assert name == f"a.npz#{hashlib.sha256(b'one').hexdigest()[:12]}"
    assert identify_captured(name) == name
    identify_captured.cache_clear()
    (tmp_path / "a.npz").write_bytes(b"two")
    assert identify_captured("a.npz") != name
    with pytest.raises(ValueError, match=r"a.npz has changed: it is #\w+ now, not #\w+; restore it"):
        identify_captured(name)


def test_what_cannot_be_read_says_who_needs_it(tmp_path):
    with pytest.raises(ValueError, match="No such file or directory; every machine that measures needs it"):
        identify_captured(str(tmp_path / "none.npz"))
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(ValueError, match="no regular file"):
        identify_captured(str(tmp_path / "pipe.npz"))


@pytest.mark.parametrize("name", ["a,b.npz", "a=b.npz", "a b.npz", "a:b.npz", "a@b.npz", "[a].npz"])
def test_what_ids_of_cases_could_not_hold_is_refused(name):
    with pytest.raises(ValueError, match="stands in ids of cases; rename it"):
        identify_captured(name)


def test_only_fields_that_say_so_take_a_file(tmp_path):

    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Both:
        seq: int = axis()
        data: str = axis("iid", choices=("iid", "tied"), captured=True)
        other: str = axis("a", choices=("a", "b"))

    _, data, other = fields_of(Both)
    (tmp_path / "a.safetensors").write_bytes(b"")
    assert data.parse(str(tmp_path / "a.safetensors")).startswith(f"{tmp_path}/a.safetensors#")
    assert data.parse("tied") == "tied"
    with pytest.raises(ValueError, match=r'unknown data "tide".*, or a file: \.npz, \.safetensors'):
        data.parse("tide")
    with pytest.raises(ValueError, match="unknown other"):
        other.parse(str(tmp_path / "a.safetensors"))
    assert not is_captured("tied")
    assert not is_captured(4)


LENGTHS = Field(
    "lengths", "str", required=False, default="uniform", choices=("uniform", "single"), table=True
)


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda content: Path("mine.csv").write_bytes(content)


@pytest.mark.parametrize(
    ("content", "bins"),
    [
        (b"tokens\n7\n\n9\n", [(7, 7, 1), (9, 9, 1)]),
        (b"\xef\xbb\xbftokens, documents\r\n7,3\r\n", [(7, 7, 3)]),
        (b'"tokens","documents"\n"7","3"\n', [(7, 7, 3)]),
        (b"shortest,longest,documents\n0,10,5\n11,20,0\n", [(1, 10, 5), (11, 20, 0)]),
    ],
)
def test_a_table_is_a_list_of_lengths_or_a_histogram(write, content, bins):
    write(content)
    assert read_table(identify_table("mine.csv")) == tuple(LengthBin(*entry) for entry in bins)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "mine.csv has no document; write tokens or"),
        (b"tokens\n", "has no document"),
        (b"tokens,documents\n7,0\n", "has no document"),
        (b"length\n7\n", 'mine.csv:1: the first line is "length"; write tokens or'),
        (b"tokens\n7\n\nx3\n", 'mine.csv:4: "x3" is not tokens; write whole numbers, the shortest before'),
        *(
            (f"tokens\n{line}\n".encode(), "mine.csv:2: .* is not tokens; write whole numbers")
            for line in ("-7", "٣", "9" * 400, "1073741825", "0", "7,1")
        ),
        (b"shortest,longest,documents\n9,8,1\n", "mine.csv:2: .* is not shortest,longest,documents"),
        (b"tokens\n" + b"7\n" * (1 << 19), "more than 1 MiB; count equal lengths"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_the_remedy(write, content, says):
    write(content)
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        LENGTHS.parse("mine.csv")


def test_a_value_is_the_path_with_the_hash_of_the_content(write):
    write(b"tokens\n7\n")
    first = LENGTHS.parse("mine.csv")
    assert first == LENGTHS.parse(first)
    write(b"tokens\n8\n")
    assert LENGTHS.parse("mine.csv") != first
    with pytest.raises(ValueError, match=r"mine.csv has changed: it is #\w{12} now, not #"):
        LENGTHS.parse(first)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("none.csv", "none.csv cannot be read: No such file"),
        ("a b.csv", "stands in ids of cases; rename it"),
        ("a@b.csv", "rename it"),
        ("../b:c.csv", "rename it"),
        ("singel", 'nearest: "single", or a CSV file'),
    ],
)
def test_what_names_no_table_is_refused(raw, says):
    with pytest.raises(ValueError, match=says):
        LENGTHS.parse(raw)
