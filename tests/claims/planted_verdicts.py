"""Verdicts on planted claims: `golden/claims_verdicts.jsonl` has a claim per line, with its rule.

`python -m tests.claims.planted_verdicts` updates all verdicts in it, after a claim was added (a line without
`said`) or a sentence was changed. Read the difference.
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


def data_of(given):
    """The verdict on a claim, or the error of its file, which is written to the current folder."""
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
        return _verdict_data(judge(claim, planted.CATALOG, planted.evidence(needs, **answers)))
    except UsageError as error:
        return {"error": str(error)}


def _verdict_data(verdict):
    return {
        "word": str(verdict.word),
        "sentence": verdict.sentence,
        **_present(disagreement=wording.disagreement(verdict), incomplete=verdict.incomplete),
        **_present(unexpected=verdict.unexpected),
        "results": [_result_data(result) for result in verdict.results],
    }


def _result_data(result):
    cells = (wording.tolerance_text(result), wording.method_text(result))
    return {
        "cells": [result.figure.name, *wording.column_texts(result), *cells],
        **_present(row=result.figure.row, against=str(result.against)),
        **_present(targets=list(result.targets), missing=result.missing, rows=result.rows - 1),
        "agrees": result.agrees,
    }


def _present(**values):
    return {name: value for name, value in values.items() if value}


if __name__ == "__main__":
    every = stored()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        lines = [json.dumps({**one, "said": data_of(one["given"])}, ensure_ascii=False) for one in every]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
