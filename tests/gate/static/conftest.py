"""Records built by hand, as the tests of analysis build them."""

import pytest

from tests.analysis.conftest import record_of, static_of


@pytest.fixture
def record():
    return record_of


@pytest.fixture
def static():
    return static_of
