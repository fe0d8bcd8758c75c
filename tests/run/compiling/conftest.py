import pytest

from harness.catalog import describe
from harness.run.compiling import Ask
from tests.run.compiling.fakes import case


@pytest.fixture(scope="session")
def catalog():
    return describe.catalog()


@pytest.fixture
def ask():
    return lambda seq=1024, target="host", implementation="mask/scatter": Ask(
        case(implementation, seq), target
    )
