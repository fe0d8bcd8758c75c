"""Fixtures: planted documents, and the claims of all families."""

from dataclasses import replace

import pytest

from harness.catalog import discovery
from harness.claims.model import claims_of
from harness.claims.verdict import figures_of
from tests.claims import planted


@pytest.fixture(scope="session")
def catalog():
    return discovery.builtin()


@pytest.fixture(scope="session")
def claims(catalog):
    """Every claim of every family, by name."""
    return {claim.name: claim for family in catalog.families.values() for claim in claims_of(family)}


@pytest.fixture(scope="session")
def figures(catalog, claims):
    """Figures of every claim, without evidence from compiling or running."""
    return {name: figures_of(claim, catalog, {})[0] for name, claim in claims.items()}


@pytest.fixture(scope="session")
def seeds(claims):
    """Claims about pull requests."""
    return {name: claim for name, claim in claims.items() if not claim.context}


@pytest.fixture
def read(tmp_path):
    """The claims of a text."""

    def claims(text, family=planted.FAMILY):
        (tmp_path / "claims.py").write_text(text)
        return claims_of(replace(family, file=str(tmp_path / "family.py")))

    return claims
