"""Records built by hand."""

import pytest

from tests.records import record_of, static_of

record = pytest.fixture(lambda: record_of, name="record")
static = pytest.fixture(lambda: static_of, name="static")
