"""Frameworks with a worker's settings."""

import pytest

from harness.worker.frameworks import base


def start_framework(name):
    """Yields the framework with double precision, and restores single precision after the tests."""
    pytest.importorskip(name)
    made = base.get(name)
    made.start("cpu", 1, wide=True)
    yield made
    made.start("cpu", 1, wide=False)
