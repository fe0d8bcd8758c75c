"""A plugin's own semantics, end to end: judged by what its author brings, the bound at every figure."""

import ast
import json
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("own_plugin.py")
NAMES = ("smooth", "rough", "near", "unjudged", "misshapen", "transposed")
OWN = "rel rms ≤ 0.02 against the author's reference"
NEAR = "rel rms ≤ 0.25 against the reference of exact"


def place(name):
    tree = ast.parse(FILE.read_text())
    node = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    return f"{FILE}:{node.decorator_list[0].lineno}"


@pytest.fixture(scope="module")
def measured(seqsweep, tmp_path_factory):
    """One run beside the family's own semantics, on two lengths."""
    results = tmp_path_factory.mktemp("own")
    words = ["--plugin", str(FILE), "--results", str(results)]
    impls = ",".join(["broadcast", *NAMES])
    return seqsweep("run", "mask", "--impl", impls, "--seq", "256,512", *words, "--json"), str(results)


@pytest.fixture
def run(measured, in_process):
    said, results = measured
    return said, lambda *command: in_process(*command, "--results", results)


@pytest.fixture(scope="module")
def records(measured):
    """Of the first length, by name."""
    return {
        record["implementation"].split("/")[1]: record
        for record in measured[0].json["records"]
        if record["seq"] == 256
    }


def test_each_is_judged_by_what_its_author_brings(run, records):
    assert run[0].code == 4, "rough and transposed are incorrect"
    assert {name: record["status"] for name, record in records.items()} == {
        "broadcast": "ok",
        "smooth": "ok",
        "rough": "incorrect",
        "near": "ok",
        "unjudged": "crashed",
        "misshapen": "crashed",
        "transposed": "incorrect",
    }
    assert records["smooth"]["correctness"]["figures"]["relative_rms"] == pytest.approx(0.01, rel=1e-3)
    assert records["near"]["correctness"]["figures"]["relative_rms"] == pytest.approx(0.2, rel=1e-2)
    assert records["broadcast"]["correctness"]["contract"] == "exact"


def test_what_is_wrong_is_named_with_file_and_line(records):
    assert records["rough"]["reason"] == (
        f"result has relative RMS error 1.00e-01; 0.02 is allowed (by the contract in {place('rough')})"
    )
    raising = FILE.read_text().partition("raise ValueError")[0].count("\n") + 1
    assert records["unjudged"]["reason"] == (
        f"the reference unjudged of family mask (defined in {place('unjudged')}) cannot be computed: "
        f"ValueError: no such mask (own_plugin.py:{raising})"
    )
    assert f"(defined in {place('misshapen')}) cannot be computed" in records["misshapen"]["reason"]
    assert "returns shape (1, 1, 256), but axis 1 must have 4 " in records["misshapen"]["reason"]
    assert records["transposed"]["reason"] == (
        "result has shape (1, 256, 4); the reference has (1, 4, 256) "
        f"(by the contract in {place('transposed')})"
    )


def test_the_bound_is_in_records_and_beside_every_figure_of_them(run, records):
    assert {name: records[name]["bound"] for name in ("broadcast", "smooth", "near")} == {
        "broadcast": "",
        "smooth": OWN,
        "near": NEAR,
    }
    data = run[0].json
    for kind in ("comparisons", "scaling", "crossovers"):
        bounds = {entry["implementation"]: entry["bound"] for entry in data[kind]}
        assert (bounds["mask/smooth"], bounds["mask/near"]) == (OWN, NEAR), kind
        assert bounds.get("mask/broadcast", "") == ""


def test_no_speedup_goes_without_it(run):
    notes = {c["implementation"]: c["notes"] for c in run[0].json["comparisons"] if c["speedup"] is not None}
    assert f"its author's bound: {OWN}" in notes["mask/smooth"]
    assert "semantics ones (baseline: exact): not mathematically equivalent" in notes["mask/smooth"]
    assert "semantics near (baseline: exact): not mathematically equivalent" in notes["mask/near"]


def test_the_table_says_it_at_the_name_and_at_the_speedup(run):
    out = run[1]("show").out
    number = next(
        line.split()[0]
        for line in out.splitlines()
        if line.endswith(f"its author's bound: {NEAR}") or f"its author's bound: {NEAR} " in line
    )
    rows = [line for line in out.splitlines() if f" near{number}" in line or line.startswith(f"near{number}")]
    assert len(rows) == 3, "two lengths, and how they grow"
    assert all(line.count(number) >= 2 for line in rows[:2])


def test_charts_say_it_in_their_notes(run, tmp_path):
    said = run[1]("chart", "--out", str(tmp_path), "--json")
    for path in json.loads(said.out)["charts"]:
        assert f"near: its author's bound: {NEAR}" in Path(path).read_text(), path


def test_a_wrong_bound_is_wrong_usage(in_process, tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from seqsweep import within\nwithin(rel_rms=0)\n")
    said = in_process("list", "--plugin", str(wrong))
    assert said.code == 2
    assert said.err.startswith(
        f"seqsweep: plugin {wrong} cannot be read: {wrong}:2: within(rel_rms=0): write a number"
    )
    assert said.err.count("\n") == 1
