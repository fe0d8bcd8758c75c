"""Planted documents, read and judged."""

from pathlib import Path

import pytest

from harness.claims.needs import needs
from harness.claims.read_yaml import load
from harness.claims.verdict import judge
from tests.claims import planted


@pytest.fixture
def read(tmp_path, monkeypatch):
    """The claims of a text."""
    monkeypatch.chdir(tmp_path)

    def claims(text, family=planted.FAMILY):
        Path("claims.yaml").write_text(text)
        return load(Path("claims.yaml"), family, planted.CATALOG)

    return claims


@pytest.fixture
def verdict(read):
    """The verdict on a claim with these figures; `planted.document` and `planted.evidence` take the rest."""

    def of(*figures, temp=1, absent="", lost=(), answers=None, **written):
        claim = read(planted.document(*figures, **written))[-1]
        wanted = needs(claim, planted.CATALOG)
        found = planted.evidence(wanted, temp=temp, absent=absent, lost=lost, **(answers or {}))
        return judge(claim, planted.CATALOG, found)

    return of
