"""A file that a workload names: called by its path and its content."""

import hashlib
import os

import pytest

from harness.core.captured_file import identify_captured, is_captured
from harness.core.workload import axis, fields_of


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
