"""A claims.yaml as data, and where each slip in one is."""

from dataclasses import replace

import pytest

from harness.claims.model import Citation, Source
from harness.claims.read_yaml import claims_of
from harness.core.errors import UsageError
from tests.claims.kept_numbers import line_numbers
from tests.claims.planted import CATALOG, FAMILY, WIDE, document

WHOLE = """\
sources:
  pull: {title: "Pull #1, description", of: "Pull #1", version: 1a2b3c4, url: "https://a.org/1", kept: "000"}
  findings: {title: "Pull #1, FINDINGS.md", of: "Pull #1"}
  paper: {title: A paper}
tables:
  rows:
    source: ["findings:28-39", "pull:46,51"]
    units: {dense: ms, sparse: ms}
    columns: [n, dense, sparse, said]
    rows:
      - [64Ki, 8.0, 4.00, 2.0]
      - [128Ki, 30, OOM, null]
claims:
  - id: memory
    says: It needs 2 GiB
    source: "pull:46"
    hardware: a TPU
    target: [tpu:v5p, tpu:v6e]
    shape: {rows: 1Ki, seq: 128Ki}
    figures:
      - {name: temp, published: 2Gi, found: 'temp_bytes("mask/a", "tpu:v5p")', within: 5%, why: rounded}
      - {name: rate, follows: rows / 1e-3, at_most: 'peak("tpu:v5p")'}
    because: It is counted twice.
    needs: the time, on a TPU
    headline: Two is one.
    expect: contradicted
  - id: times
    says: Faster
    source: [findings, "pull:46"]
    hardware: any
    table: rows
    figures: [{name: ratio, each: true, published: said, follows: dense / sparse}]
    expect: adds up
  - id: e2e
    says: Less
    source: pull
    hardware: GPU
    not_checkable: needs a GPU
    expect: not checkable here
context:
  - id: beside
    says: More
    source: paper
    hardware: any
    table: rows
    figures: [{name: a, published: 1, found: 1}]
    expect: adds up
"""


def test_a_whole_file(read):
    memory, times, e2e, beside = read(WHOLE)
    assert (memory.name, memory.where) == ("mask/memory", "claims.yaml:14")
    pull = Source("pull", "Pull #1, description", "Pull #1", "1a2b3c4", "https://a.org/1", "000")
    assert memory.sources == (Citation(pull, "46"),)
    assert (memory.targets, memory.hardware) == (("tpu:v5p", "tpu:v6e"), "a TPU")
    assert (memory.shape["rows"], memory.shape["topk"], memory.given) == (1024, 2, ("rows", "seq"))
    assert [figure.name for figure in memory.figures] == ["temp", "rate"]
    assert (memory.because, memory.needs) == ("It is counted twice.", "the time, on a TPU")
    assert (memory.headline, memory.expect, memory.context) == ("Two is one.", "contradicted", False)
    assert [(one.source.id, one.lines) for one in times.sources] == [("findings", ""), ("pull", "46")]
    assert (e2e.figures, e2e.targets, e2e.not_checkable) == ((), (), "needs a GPU")
    assert (beside.context, beside.sources[0].source) == (True, Source("paper", "A paper"))


def test_rows_are_written_once_for_all_claims_that_name_their_table(read):
    _, times, _, beside = read(WHOLE)
    assert times.table is beside.table
    table = times.table
    cited = [(one.source.id, one.lines) for one in table.sources]
    assert cited == [("findings", "28-39"), ("pull", "46,51")]
    assert table.rows == ((65536, 8.0, 4.0, 2.0), (131072, 30, "OOM", None))
    assert table.written == (("64Ki", "8.0", "4.00", "2.0"), ("128Ki", "30", "OOM", "null"))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("says: It is", "sais: It is", 'claims.yaml:9: unknown key "sais" of a claim; nearest: "says"'),
        ('    source: "paper:3"\n', "", "claims.yaml:8: a claim needs source"),
        ("    says: It is so\n", "", "claims.yaml:8: a claim needs says"),
        ("    hardware: any\n", "", "claims.yaml:8: a claim needs hardware"),
        ("paper:3", "papre:3", 'claims.yaml:10: unknown source "papre"; nearest: "paper"'),
        ("paper:3", "paper:3-", 'claims.yaml:10: lines are written like 46, 28-39 or 46,51; not "3-"'),
        ("paper:3", "paper:x", 'not "x"'),
        ("any", "any\n    shape: {row: 4}", 'claims.yaml:12: unknown workload field "row" of family mask'),
        ("any", "any\n    shape: {rows: four}", 'claims.yaml:12: "four" is not a quantity'),
        ("any", "any\n    target: gpu", 'claims.yaml:12: unknown target "gpu"'),
        ("any", "any\n    target: [host, tpu:v9]", 'claims.yaml:12: unknown target "tpu:v9"'),
        ("any", "any\n    table: rows", 'claims.yaml:12: unknown table "rows"'),
        ("expect: reproduced", "expect: reproducd", 'claims.yaml:12: unknown verdict "reproducd"; near'),
        ("claims:", "claim:", 'claims.yaml:7: unknown key "claim" at the top level; nearest: "claims"'),
        ("claims:", "sources:", 'claims.yaml:7: duplicate key "sources"; it stands in claims.yaml:1 too'),
        ('url: "https://example.org/blog"', "link: x", 'claims.yaml:5: unknown key "link" of a source'),
        ('title: "A blog", ', "", "claims.yaml:5: a source needs title"),
        ("published: 1, found: 1", "published: 1", "claims.yaml:8: one has no figure that decides; add"),
    ],
)
def test_a_slip_in_a_claim_is_an_error_with_its_place(read, old, new, why):
    text = document("name: size, published: 1, found: 1")
    assert old in text
    with pytest.raises(UsageError, match=why):
        read(text.replace(old, new, 1))


def test_a_file_has_claims(read):
    with pytest.raises(UsageError, match=r"claims\.yaml:1: the file has no claims"):
        read("sources: {a: {title: A}}\n")


@pytest.mark.parametrize(("section", "source"), [("claims", "paper"), ("context", "blog")])
def test_an_id_is_one_claims_even_across_both_sections(read, section, source):
    text = document("name: a, published: 1, found: 1", source=source, section=section)
    own = text.index("  - id: one")
    with pytest.raises(UsageError, match=r"claims.yaml:\d+: duplicate id one; it stands in claims.yaml:\d+"):
        read(text + text[own:])
    if section == "context":
        with pytest.raises(UsageError, match="duplicate id besides"):
            read(text.replace("id: one", "id: besides"))


TABLE = "t: {source: paper, columns: [n, a], rows: [[1, 2]]}"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("[1, 2]]", "[1, 2, 3]]", "claims.yaml:8: a row has 2 cells: n, a"),
        ("[n, a]", "[n, n]", "two columns have one name"),
        (", rows: [[1, 2]]", "", "a table needs rows"),
        ("columns: [n, a], ", "", "a table needs columns"),
        ("[[1, 2]]", "[[[1], 2]]", "a cell is one value"),
        ("rows", "unit: s, rows", 'unknown key "unit" of a table; nearest: "units"'),
        ("source: paper, ", "", "claims.yaml:8: a table needs source"),
        ("paper", "papre", 'claims.yaml:8: unknown source "papre"; nearest: "paper"'),
    ],
)
def test_a_slip_in_a_table(read, old, new, why):
    text = document("name: a, published: 1, found: 1", tables=TABLE.replace(old, new, 1), more="table: t")
    with pytest.raises(UsageError, match=why):
        read(text)


def test_a_column_is_named_row_by_row_only(read):
    with pytest.raises(UsageError, match=r"claims.yaml:\d+: .*a is a column; add each: true"):
        read(document("name: x, published: 1, follows: a", tables=TABLE, more="table: t"))
    with pytest.raises(UsageError, match=r"claims.yaml:\d+: each row of what\? The claim has no table"):
        read(document("name: x, each: true, published: 1, follows: 1", tables=TABLE))


def test_claims_lie_beside_the_file_of_a_family(tmp_path):
    (tmp_path / "claims.yaml").write_text(document("name: a, published: 1, found: 1"))
    own, elsewhere = tmp_path / "own.py", tmp_path / "else" / "own.py"
    assert [one.id for one in claims_of(replace(FAMILY, file=str(own)), CATALOG)] == ["one"]
    assert claims_of(replace(FAMILY, file=str(elsewhere)), CATALOG) == ()


def test_what_has_no_width_asks_for_nothing_to_be_compiled(read):
    figure = """name: a, published: 1, found: 'temp_bytes("wide/a", "host")'"""
    with pytest.raises(UsageError, match=r"claims.yaml:\d+: wide/a has no width; write it under shape"):
        read(document(figure), WIDE)
    assert read(document(figure, more="shape: {width: 3}"), WIDE)[0].shape["width"] == 3


LINES = {"": (), "46": (46,), "28-39": range(28, 40), "46,51": (46, 51), "28-30,46-47": (28, 29, 30, 46, 47)}


@pytest.mark.parametrize(("lines", "numbers"), LINES.items())
def test_cited_lines_as_numbers(lines, numbers):
    assert line_numbers(lines) == set(numbers)


def test_a_published_number_is_held_to_no_literal_where_hardware_is_named(read):
    text = WHOLE.replace('found: \'temp_bytes("mask/a", "tpu:v5p")\'', "found: 3Gi")
    assert text != WHOLE
    with pytest.raises(UsageError, match="figure temp: a number written down says nothing against a TPU"):
        read(text)
    (memory, *_) = read(text.replace("hardware: a TPU", "hardware: any"))
    assert memory.hardware == "any"
