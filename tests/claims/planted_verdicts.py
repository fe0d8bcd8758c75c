"""The verdicts on planted claims, as data: `golden/claims_verdicts.jsonl` has a claim a line, under its rule.

`python -m tests.claims.planted_verdicts` judges them all anew and writes what is said of them: for a claim
that was added (a line without `said`), or a sentence that was changed. Read the difference.
"""

import json
import os
import tempfile
from pathlib import Path

from harness.claims import wording
from harness.claims.evidence import needs
from harness.claims.read_yaml import load
from harness.claims.verdict import judge
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
    figures, change = given.pop("figures"), given.pop("change", None)
    answers = {name: given.pop(name) for name in ANSWERS if name in given}
    if "cost" in answers:
        answers["cost"] = Cost(**answers["cost"])
    if isinstance(answers.get("temp"), dict):  # by target, or by length
        temp = answers["temp"]
        answers["temp"] = {int(key) if key.isdigit() else key: value for key, value in temp.items()}
    text = planted.document(*figures, **given)
    if change:
        assert change[0] in text
        text = text.replace(*change, 1)
    Path("claims.yaml").write_text(text)
    try:
        claim = load(Path("claims.yaml"), planted.FAMILY, planted.CATALOG)[-1]
        found = planted.evidence(needs(claim, planted.CATALOG), **answers)
        return _verdict(judge(claim, planted.CATALOG, found))
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
        **_present(row=reading.row, against=str(reading.against), tested=reading.tested),
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
