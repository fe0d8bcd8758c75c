"""The verdicts on planted claims, as data: `golden/claims_verdicts.jsonl` has a claim a line, under its rule.

`python -m tests.claims.planted_verdicts` judges them all anew and writes what is said of them: for a claim
that was added (a line without `said`), or a sentence that was changed. Read the difference.
"""

import json
import os
import tempfile
from pathlib import Path

from harness.claims import wording
from harness.claims.model import claims_of
from harness.claims.verdict import figures_of, judge
from harness.core.errors import UsageError
from harness.core.record import Cost
from tests.claims import planted

FILE = Path(__file__).parents[1] / "golden/claims_verdicts.jsonl"
ANSWERS = ("temp", "cost", "status", "passed", "absent", "lost")


def stored():
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def said_of(given):
    """What is said of a claim: its verdict, or why its file is refused; read from the current folder."""
    given = dict(given)
    figures = given.pop("figures")
    answers = {name: given.pop(name) for name in ANSWERS if name in given}
    if "cost" in answers:
        answers["cost"] = Cost(**answers["cost"])
    if isinstance(answers.get("temp"), dict):  # by target, or by length
        temp = answers["temp"]
        answers["temp"] = {int(key) if key.isdigit() else key: value for key, value in temp.items()}
    Path("claims.py").write_text(planted.document(*figures, **given))
    try:
        (claim,) = claims_of(planted.FAMILY)
        _, needs = figures_of(claim, planted.CATALOG, {})
        return _verdict(judge(claim, planted.CATALOG, planted.evidence(needs, **answers)))
    except UsageError as error:
        return {"error": str(error)}


def _verdict(told):
    return {
        "word": str(told.word),
        "sentence": told.sentence,
        **_present(disagreement=wording.disagreement(told), incomplete=told.incomplete),
        **_present(unexpected=told.unexpected),
        "readings": [_reading(reading) for reading in told.readings],
    }


def _reading(reading):
    cells = (wording.tolerance_text(reading), wording.method_text(reading))
    return {
        "cells": [reading.figure.name, *wording.column_texts(reading), *cells],
        **_present(row=reading.figure.row, against=str(reading.against)),
        **_present(targets=list(reading.targets), missing=reading.missing, rows=reading.rows - 1),
        "agrees": reading.agrees,
    }


def _present(**values):
    return {name: value for name, value in values.items() if value}


if __name__ == "__main__":
    every = stored()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        lines = [json.dumps({**one, "said": said_of(one["given"])}, ensure_ascii=False) for one in every]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
