"""Planted documents, read and judged."""

from pathlib import Path

import pytest

from harness.catalog import discovery
from harness.claims.read_yaml import claims_of, load
from tests.claims import planted


@pytest.fixture(scope="session")
def catalog():
    return discovery.builtin()


@pytest.fixture(scope="session")
def claims(catalog):
    """Every claim of every family, by name."""
    return {claim.name: claim for family in catalog.families.values() for claim in claims_of(family, catalog)}


@pytest.fixture(scope="session")
def seeds(claims):
    """Those of the pull requests."""
    return {name: claim for name, claim in claims.items() if not claim.context}


@pytest.fixture
def read(tmp_path, monkeypatch):
    """The claims of a text."""
    monkeypatch.chdir(tmp_path)

    def claims(text, family=planted.FAMILY):
        Path("claims.yaml").write_text(text)
        return load(Path("claims.yaml"), family, planted.CATALOG)

    return claims
