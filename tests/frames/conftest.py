from pathlib import Path

import pytest

from tests.stores import store_two_runs


@pytest.fixture
def results(tmp_path: Path) -> Path:
    store_two_runs(tmp_path / "results")
    return tmp_path / "results"
