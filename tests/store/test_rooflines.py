import pytest

from harness.core.errors import UsageError
from harness.store import rooflines

HERE = {"cpu": "x", "threads": 2}


def test_each_machine_has_one_and_a_second_measurement_takes_its_place(tmp_path):
    assert rooflines.read(tmp_path) == {}
    for load in (1.0, 2.0):
        rooflines.keep(tmp_path, HERE, {"load": load})
    rooflines.keep(tmp_path, {**HERE, "threads": 1}, {"load": 3.0})
    kept = rooflines.read(tmp_path)
    assert sorted(entry["load"] for entry in kept.values()) == [2.0, 3.0]
    assert all(key.startswith("sha256:") for key in kept)


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_file_says_how_to_make_another(tmp_path, text):
    (tmp_path / "rooflines.json").write_text(text)
    with pytest.raises(UsageError, match=r"delete it, and measure again: seqsweep doctor --roofline"):
        rooflines.read(tmp_path)
