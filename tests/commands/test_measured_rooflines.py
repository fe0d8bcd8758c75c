import json

import pytest

from harness.analysis.roofline import FILE, known_rooflines
from harness.commands.measured_rooflines import store
from harness.core.errors import UsageError
from tests.rooflines import machine

HERE = {"cpu": "x", "threads": 2}


def test_each_machine_has_one_roofline_and_a_second_measurement_replaces_it(tmp_path):
    assert known_rooflines(tmp_path) == {}
    for threads, load in ((2, 1.0), (2, 2.0), (1, 3.0)):
        store(tmp_path, {**HERE, "threads": threads}, {"load": load})
    kept = json.loads((tmp_path / FILE).read_text())
    assert sorted(entry["load"] for entry in kept.values()) == [2.0, 3.0]


def test_a_runs_own_roofline_comes_first(tmp_path):
    (tmp_path / "run").mkdir()
    for folder, rate in ((tmp_path, 1e11), (tmp_path / "run", 2e11)):
        store(folder, HERE, {"caches": {}, "readings": list(map(vars, machine(f32=rate).readings))})
    (found,) = known_rooflines(tmp_path, tmp_path / "run").values()
    assert found.compute["f32"].rate == 2e11


@pytest.mark.parametrize("text", ["{", "[]", '{"sha256:1": {}}'])
def test_a_damaged_file_is_refused_with_a_remedy(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UsageError, match=r"delete it, and measure again with seqsweep doctor --roofline"):
        known_rooflines(tmp_path)
