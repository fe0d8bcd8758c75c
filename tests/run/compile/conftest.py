import pytest

from harness.catalog import discovery
from harness.run.compile import CompileRequest
from tests.run.compile.fakes import case


@pytest.fixture(scope="session")
def catalog():
    return discovery.catalog()


@pytest.fixture
def ask():
    return lambda seq=1024, target="host", implementation="mask/scatter": CompileRequest(
        case(implementation, seq), target
    )
