"""Planted claims: verdict, sentence and columns, or the error of the file."""

import pytest

from harness.claims.model import VERDICTS
from tests.claims.planted_verdicts import data_of, stored

CLAIMS = stored()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["rule"].replace(" ", "_"))
def test_the_verdict_on_a_planted_claim(claim, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert data_of(claim["given"]) == claim["said"]


def test_every_outcome_is_planted():
    assert {claim["said"].get("word") for claim in CLAIMS} == {*map(str, VERDICTS), "context", None}
