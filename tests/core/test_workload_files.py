"""A file that a workload names: called by its path and its content."""

import hashlib
import os
from pathlib import Path

import pytest

from harness.core.workload import Field
from harness.core.workload_files import identify_captured


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


def test_unreadable_file_error_has_a_remedy(tmp_path):
    with pytest.raises(
        ValueError, match=r"\(No such file or directory\); copy it to every measuring machine"
    ):
        identify_captured(str(tmp_path / "none.npz"))
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(ValueError, match="not a regular file"):
        identify_captured(str(tmp_path / "pipe.npz"))


LENGTHS = Field(
    "lengths", "str", required=False, default="uniform", choices=("uniform", "single"), table=True
)


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda content: Path("mine.csv").write_bytes(content)


def test_a_value_is_the_path_with_the_hash_of_the_content(write):
    write(b"tokens\n7\n")
    first = LENGTHS.parse("mine.csv")
    assert first == LENGTHS.parse(first)
    write(b"tokens\n8\n")
    assert LENGTHS.parse("mine.csv") != first
    with pytest.raises(ValueError, match=r"mine.csv has changed: it is #\w{12} now, not #"):
        LENGTHS.parse(first)


def test_large_table_is_refused(write):
    write(b"tokens\n" + b"7\n" * (1 << 19))
    with pytest.raises(ValueError, match="larger than 1 MiB; count equal lengths"):
        LENGTHS.parse("mine.csv")
