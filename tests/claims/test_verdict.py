"""Planted claims: the verdict, sentence and columns that each gets, or why its file is refused."""

import pytest

from harness.claims.model import VERDICTS
from tests.claims.planted_verdicts import said_of, stored

CLAIMS = stored()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["rule"].replace(" ", "_"))
def test_what_is_said_of_a_planted_claim(claim, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said_of(claim["given"]) == claim["said"]


def test_every_word_is_there():
    assert {claim["said"].get("word") for claim in CLAIMS} == {*map(str, VERDICTS), "context", None}
