import sys

import pytest


@pytest.fixture(autouse=True)
def import_path(monkeypatch):
    """A plugin that is loaded in this process adds its folder to the path, which no other test may see."""
    monkeypatch.setattr(sys, "path", [*sys.path])
