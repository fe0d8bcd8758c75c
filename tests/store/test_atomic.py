import pytest

from harness.core.errors import MachineError
from harness.store.atomic import write_files


def test_files_are_written_whole_into_a_new_folder(tmp_path):
    folder = tmp_path / "charts" / "new"
    paths = write_files(folder, {"a.svg": b"<svg/>", "b.svg": b""})
    assert paths == [folder / "a.svg", folder / "b.svg"]
    assert [path.read_bytes() for path in paths] == [b"<svg/>", b""]
    assert (paths[0].stat().st_mode & 0o777) == 0o644
    write_files(folder, {"a.svg": b"again"})
    assert sorted(path.name for path in folder.iterdir()) == ["a.svg", "b.svg"]
    assert paths[0].read_bytes() == b"again"


def test_failed_write_leaves_no_temporary_file(tmp_path):
    (tmp_path / "a.svg").mkdir()
    with pytest.raises(MachineError, match=r"a\.svg: cannot be written"):
        write_files(tmp_path, {"a.svg": b""})
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]
