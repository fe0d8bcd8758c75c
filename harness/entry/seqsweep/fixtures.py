"""A pytest fixture, for a conftest.py with `pytest_plugins = ["seqsweep.fixtures"]`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def seqsweep_case(tmp_path: Path) -> Callable[..., Any]:
    """`seqsweep.testing.measure`, with its run stored in the test's temporary folder."""
    from .testing import measure

    return partial(measure, results=tmp_path / "results")
