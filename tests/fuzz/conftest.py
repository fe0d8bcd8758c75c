"""Counts what each property was tried on. SEQSWEEP_FUZZ multiplies that: `make fuzz`."""

import os
from collections import Counter

import pytest

TRIED = Counter()


@pytest.fixture
def tried(request):
    """Called for each input."""
    name = request.node.originalname

    def count(inputs=1):
        TRIED[name] += inputs

    return count


def pytest_terminal_summary(terminalreporter):
    if "SEQSWEEP_FUZZ" in os.environ and TRIED:
        for name, count in TRIED.items():
            terminalreporter.write_line(f"{count:>9,} inputs  {name.removeprefix('test_').replace('_', ' ')}")
        terminalreporter.write_line(f"{sum(TRIED.values()):>9,} inputs in all")
