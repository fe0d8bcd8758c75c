"""A family's own fault: one sentence with its line, no crash of what it judges, and exit code 2."""

from pathlib import Path

import pytest

FILE = Path(__file__).with_name("faulty_families.py")
LINES = {
    text: FILE.read_text().partition(text)[0].count("\n") + 1
    for text in ("raise ValueError", "return evidence", "1 / 0", "missing")
}
REASONS = {
    "reference": "the reference double of family reference cannot be computed: "
    f"ValueError: no reference here (faulty_families.py:{LINES['raise ValueError']})",
    "contract": "the check of its result cannot be computed: AttributeError: 'Points' object has no "
    f"attribute 'bound' (faulty_families.py:{LINES['return evidence']})",
    "inputs": "the inputs of family inputs cannot be computed: ZeroDivisionError: division by zero "
    f"(faulty_families.py:{LINES['1 / 0']})",
    "shapes": "the inputs of family shapes: NameError: name 'missing' is not defined "
    f"(faulty_families.py:{LINES['missing']})",
}
BENCH = """\
plugins: [{file}]
defaults: {{budget: 50ms, timeout: 60s, memory: 4GiB}}
suites:
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("faulty")
    suites = [
        f"  {name}: {{family: {name}, seq: [8000], baseline: adds}}\n" for name in ("good", "cost", *REASONS)
    ]
    (made / "bench.yaml").write_text(BENCH.format(file=FILE) + "".join(suites))
    return made


@pytest.mark.parametrize("family", REASONS)
def test_a_fault_is_one_sentence_and_its_cases_are_unjudged(seqsweep, folder, family):
    said = seqsweep("run", "good", family, "--json", folder=folder)
    records = {record["case"].partition("@")[0]: record for record in said.json["records"]}
    assert {records[f"good/{name}"]["status"] for name in ("adds", "multiplies")} == {"ok"}
    for name in ("adds", "multiplies"):
        record = records[f"{family}/{name}"]
        assert (record["status"], record["reason"]) == ("unjudged", REASONS[family])
        assert record["crash_file"] == ""
    assert said.err.count(REASONS[family]) == 1
    assert f"fix family {family}" in said.err
    assert said.code == 2


@pytest.mark.parametrize("command", ["check", "static"])
def test_a_negative_cost_is_the_familys_fault_in_every_framework(seqsweep, folder, command):
    said = seqsweep(command, "cost", "--json", folder=folder)
    why = "the cost of family cost: ValueError: a cost of -3000 is not a number ≥ 0"
    assert {record["status"] for record in said.json["records"]} == {"unjudged"}
    assert all(record["reason"].startswith(why) for record in said.json["records"])
    assert said.err.count(why) == 1
    assert said.code == 2
