from dataclasses import replace
from pathlib import Path

import pytest

from harness.catalog import describe
from harness.spec.claim import Need
from harness.spec.errors import UsageError
from harness.sweep.claims import claims_of, load
from harness.sweep.needs import needs

WHOLE = """\
claims:
  - id: memory
    says: It needs 2 GiB
    source: a pull request
    version: 1a2b3c4
    hardware: a TPU
    target: tpu:v5p
    shape: {rows: 1Ki, seq: 128Ki}
    figures:
      - name: temp
        unit: B
        theirs: 2Gi
        ours: temp_bytes("mask/scatter", "tpu:v5p", topk=512) + temp_bytes("scatter", "host")
        within: 5%
      - {name: ratio, theirs: [50, 800], ours: rows * topk, wrong: true}
      - {name: rate, unit: FLOP/s, implied: rows / 1e-3, at_most: 'peak("tpu:v5p")'}
    because: nothing
    expect: contradicted
  - id: times
    says: Faster
    source: a table
    version: not stated
    hardware: any
    table:
      columns: [n, dense, sparse, said]
      units: {dense: ms, sparse: ms}
      rows:
        - [64Ki, 8.0, 4.00, 2.0]
        - [128Ki, 30, OOM, null]
    shape: {rows: 4}
    figures:
      - {name: ratio, each: true, theirs: said, ours: dense / sparse}
      - {name: first, theirs: 64Ki, ours: 'first_win("dense", "sparse")'}
      - {name: flops, each: true, implied: 'flops("mask/scatter", "host", seq=n)', at_most: 1e12}
    expect: reproduced
  - id: e2e
    says: Less
    source: a thread
    version: not stated
    hardware: GPU
    not_checkable: needs a GPU
    expect: not checkable here
"""


@pytest.fixture
def read(tmp_path, monkeypatch, catalog):
    monkeypatch.chdir(tmp_path)

    def one(text):
        Path("claims.yaml").write_text(text)
        return load(Path("claims.yaml"), catalog.family("mask"), catalog)

    return one


def test_a_whole_file(read):
    memory, times, e2e = read(WHOLE)
    assert (memory.name, memory.where, memory.target) == ("mask/memory", "claims.yaml:2", "tpu:v5p")
    assert memory.shape["rows"] == 1024
    assert memory.shape["topk"] == 2048
    assert memory.given == ("rows", "seq")
    temp, ratio, rate = memory.figures
    assert (temp.unit, temp.within, temp.wrong, temp.bounded) == ("B", 0.05, False, False)
    assert temp.theirs is not None
    assert temp.theirs.value({}) == 2**31
    assert ratio.wrong
    assert ratio.upto is not None
    assert ratio.upto.text == "800"
    assert rate.bounded
    assert times.table is not None
    assert times.table.rows == ((65536, 8.0, 4.0, 2.0), (131072, 30, "OOM", None))
    assert times.table.written == (("64Ki", "8.0", "4.00", "2.0"), ("128Ki", "30", "OOM", "null"))
    assert times.table.units == "dense ms, sparse ms"
    assert (e2e.figures, e2e.not_checkable) == ((), "needs a GPU")


def test_what_it_asks_for_are_cases_each_once(read, catalog):
    memory, times, e2e = read(WHOLE)
    found = needs(memory, catalog)
    assert [(one.kind, one.case.id, one.target) for one in found] == [
        (
            Need.COMPILE,
            "mask/scatter@batch=1,dtype=f32,rows=1024,seq=131072,topk=512:fwd:cpu",
            "tpu:v5p",
        ),
        (Need.COMPILE, "mask/scatter@batch=1,dtype=f32,rows=1024,seq=131072,topk=2048:fwd:cpu", "host"),
    ]
    assert [one.case.seq for one in needs(times, catalog)] == [65536, 131072]
    assert needs(e2e, catalog) == ()


ONE = """\
claims:
  - id: one
    says: It is so
    source: somewhere
    version: not stated
    hardware: any
    shape: {{rows: 4, seq: 1Ki}}
    figures:
      - name: size
        theirs: 1
        {}
    expect: reproduced
"""


@pytest.mark.parametrize(
    ("figure", "why"),
    [
        ("ours: rows * sq", 'claims.yaml:9: unknown name "sq"; nearest: "seq"'),
        ("ours: tile * rows(", r'claims.yaml:11: "tile \* rows\(" is not arithmetic'),
        ('ours: tmp_bytes("a", "host")', 'unknown function "tmp_bytes"; nearest: "temp_bytes"'),
        ('ours: __import__("os")', 'claims.yaml:9: unknown function "__import__"'),
        ("ours: rows.real", '"rows.real" is not arithmetic'),
        (
            'ours: temp_bytes("mask/scater", "host")',
            'unknown implementation "mask/scater" of family mask; nearest: "scatter"',
        ),
        ('ours: temp_bytes("topk/exact", "host")', "topk/exact is not of family mask"),
        ('ours: temp_bytes("mask/scatter", "tpu:v5")', 'unknown target "tpu:v5"; nearest: "tpu:v5'),
        ('ours: temp_bytes("mask/scatter")', r"temp_bytes\(implementation, target\) takes 2 quoted"),
        ('ours: temp_bytes("mask/scatter", 1)', "takes 2 quoted arguments"),
        ('ours: temp_bytes("mask/scatter", "host", row=1)', 'unknown workload field "row".*"rows"'),
        ('ours: temp_bytes("mask/scatter", "host", rows=0.5)', "not a whole number"),
        ('ours: temp_bytes("mask/scatter", "host", mode="bwd")', 'unknown mode "bwd"'),
        ('ours: temp_bytes("mask/scatter[keep=1]", "host")', 'unknown option "keep"'),
        ('ours: memory("cuda:h20")', 'unknown target "cuda:h20"; nearest: "cuda:h200"'),
        ('ours: first_win("rows", "1")', "reads a table, and this claim has none"),
        ('ours: largest("rows")', 'unknown function "largest"'),
        ("ours: 1\n        each: true", "claims.yaml:9: each row of what"),
        ("ours: 1\n        within: -1%", "claims.yaml:12: .*not a quantity"),
        ("ours: 1\n        wrong: 1", "claims.yaml:12: wrong is true or false"),
        ("ours: 1\n        our: 2", 'claims.yaml:12: unknown key "our" of a figure; nearest: "ours"'),
        ("ours: 1\n        ours: 2", 'claims.yaml:12: duplicate key "ours"'),
        ("at_most: 1", "a bounded figure has implied"),
        ("implied: 1", "a bounded figure has implied"),
    ],
)
def test_a_slip_in_a_figure_is_an_error_with_its_place(read, figure, why):
    with pytest.raises(UsageError, match=why):
        read(ONE.format(figure))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("says:", "sais:", 'claims.yaml:3: unknown key "sais" of a claim; nearest: "says"'),
        ("    source: somewhere\n", "", "claims.yaml:2: a claim needs source"),
        ("rows: 4", "row: 4", 'claims.yaml:7: unknown workload field "row" of family mask'),
        ("rows: 4", "rows: four", 'claims.yaml:7: "four" is not a quantity'),
        ("expect: reproduced", "expect: fine", 'claims.yaml:12: unknown verdict "fine"'),
        ("hardware: any", "hardware: any\n    target: gpu", 'claims.yaml:7: unknown target "gpu"'),
        ("theirs: 1\n        ours: 1\n", "unit: B\n", "figure size has neither theirs nor ours"),
        ("theirs: 1\n", "wrong: true\n", "figure size is only shown; wrong and each take theirs and ours"),
        ("theirs: 1\n", "each: true\n", "figure size is only shown; wrong and each take theirs and ours"),
        ("theirs: 1\n", "unit: B\n", "one has no figure that decides; add one with theirs and ours"),
        ("theirs: 1\n", "theirs: [1, 2, 3]\n", "both ends of a range"),
        ("claims:", "claim:", 'claims.yaml:1: unknown key "claim" at the top level'),
        ("ours: 1", "unit: B", "one has no figure that decides"),
    ],
)
def test_a_slip_in_a_claim_is_an_error_with_its_place(read, old, new, why):
    text = ONE.format("ours: 1")
    assert old in text
    with pytest.raises(UsageError, match=why):
        read(text.replace(old, new))


def test_ours_alone_is_shown_beside_a_figure_that_decides(read):
    text = ONE.format("ours: 1\n      - {name: seen, ours: 2}")
    size, seen = read(text)[0].figures
    assert (size.decides, seen.decides) == (True, False)
    assert seen.ours is not None


def test_two_claims_of_one_id(read):
    with pytest.raises(UsageError, match=r"claims.yaml:13: duplicate id one; it stands in claims.yaml:2 too"):
        read(ONE.format("ours: 1") + ONE.format("ours: 1").removeprefix("claims:\n"))


def test_what_has_no_length_asks_for_nothing_to_be_compiled(read):
    text = ONE.format('ours: temp_bytes("mask/scatter", "host")').replace(", seq: 1Ki", "")
    with pytest.raises(UsageError, match="mask/scatter has no seq; write it under shape"):
        read(text)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("{columns: [n, a], rows: [[1, 2, 3]]}", "a row has 2 cells: n, a"),
        ("{columns: [n, n], rows: [[1, 2]]}", "two columns have one name"),
        ("{columns: [n]}", "a table needs rows"),
        ("{columns: [n], rows: [[[1]]]}", "a cell is one value"),
        ("{columns: [n], rows: [[1]], unit: s}", 'unknown key "unit" of a table; nearest: "units"'),
    ],
)
def test_a_slip_in_a_table(read, table, why):
    text = ONE.format("ours: 1").replace("    figures:", f"    table: {table}\n    figures:")
    with pytest.raises(UsageError, match=why):
        read(text)


def test_a_column_is_named_row_by_row_only(read):
    text = ONE.format("ours: a").replace(
        "    figures:", "    table: {columns: [n, a], rows: [[1, 2]]}\n    figures:"
    )
    with pytest.raises(UsageError, match="a is a column; add each: true"):
        read(text)


def test_claims_lie_beside_the_file_of_a_family(catalog, tmp_path):
    (tmp_path / "claims.yaml").write_text(ONE.format("ours: 1"))
    family = catalog.family("mask")
    assert [one.id for one in claims_of(replace(family, file=str(tmp_path / "own.py")), catalog)] == ["one"]
    assert claims_of(replace(family, file=str(tmp_path / "else" / "own.py")), catalog) == ()


def test_the_shipped_files_are_understood_and_every_family_has_one():
    everything = describe.builtin()
    for family in everything.families.values():
        found = claims_of(family, everything)
        assert found, family.name
        assert all(claim.because or claim.not_checkable for claim in found if claim.expect == "contradicted")
