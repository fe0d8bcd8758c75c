"""`compare --across` as a command: stored runs in, the sentence and the data out."""

import json

import pytest
from typer.testing import CliRunner

from harness.commands.app import app
from tests.records import PASSED, record_of, timing_of
from tests.stores import FACTS, store


@pytest.fixture
def machines(tmp_path):
    """One suite on three machines; on the last it is no faster."""
    for place, (cpu, seconds) in enumerate({"EPYC": 1.0, "Xeon": 1.05, "Atom": 2.0}.items()):
        records = [
            record_of(name, 4096, timing=timing_of([time] * 6), correctness=PASSED)
            for name, time in (("base", 2.0), ("scatter", seconds))
        ]
        store(tmp_path, f"2026112{place}T113000Z-aaaaaaa", records, facts={**FACTS, "cpu": cpu})
    return tmp_path


def across(machines, *words):
    result = CliRunner().invoke(
        app, ["compare", "--across", "--results", str(machines), *words], env={"COLUMNS": "120"}
    )
    return result.exit_code, result.output


def test_the_answer_comes_first_and_every_machine_has_its_line(machines):
    code, text = across(machines)
    assert code == 0
    first, *rest = text.splitlines()
    assert first.startswith(
        "scatter against base at 4Ki: 2 of 3 independent machines agree: faster, 1.90–2.00×;"
    )
    assert "which differs in cpu: 1.000× [1.000, 1.000], about the same" in first
    assert sum("2026112" in line for line in rest) == 3


def test_data_has_every_machine_with_its_facts(machines):
    data = json.loads(across(machines, "mask", "--json")[1])
    (found,) = data["reproductions"]
    assert (found["agree"], found["of"], found["independent"]) == (2, 3, 2)
    assert "agreeing" not in found  # it is counted, and each machine says whether it agrees
    assert [machine["agrees"] for machine in found["machines"]] == [True, True, False]
    assert {data["fingerprints"][machine["fingerprint"]]["cpu"] for machine in found["machines"]} == {
        "EPYC", "Xeon", "Atom",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["topk"], 'no run has a suite "topk"; known: mask'),
        (["--impl", "base"], "--across: goes without --impl"),
    ],
)
def test_what_does_not_exist_or_fit_is_refused(machines, words, says):
    result = CliRunner().invoke(app, ["compare", "--across", "--results", str(machines), *words])
    assert says in str(result.exception)
