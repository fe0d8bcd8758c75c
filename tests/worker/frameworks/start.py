"""A framework as a measuring process has it."""

import pytest

from harness.worker.frameworks import base


def start_framework(name):
    """Yields the framework with double precision, and takes that back behind its tests."""
    pytest.importorskip(name)
    made = base.get(name)
    made.start("cpu", 1, wide=True)
    yield made
    made.start("cpu", 1, wide=False)
