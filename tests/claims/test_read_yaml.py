"""A claims.yaml as data, and where each slip in one is."""

from dataclasses import replace

import pytest

from harness.claims.model import Citation, Source
from harness.claims.read_yaml import claims_of
from harness.core.errors import UsageError
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


def test_a_published_number_is_held_to_no_literal_where_hardware_is_named(read):
    text = WHOLE.replace('found: \'temp_bytes("mask/a", "tpu:v5p")\'', "found: 3Gi")
    assert text != WHOLE
    with pytest.raises(UsageError, match="figure temp: a number written down says nothing against a TPU"):
        read(text)
    (memory, *_) = read(text.replace("hardware: a TPU", "hardware: any"))
    assert memory.hardware == "any"


@pytest.fixture
def figure(read):
    """A figure as it is read, beside one that decides."""

    def of(text):
        return read(document(text, "name: other, published: 1, found: 1"))[0].figures[0]

    return of


def texts(found):
    return [expression.text for expression in found.expressions()]


def test_a_figure_that_is_compared(figure):
    found = figure("name: temp, unit: B, published: 2Gi, follows: 2 * 1Gi, found: rows, within: 5%, why: x")
    assert (found.name, found.unit, found.within, found.why) == ("temp", "B", 0.05, "x")
    assert (found.compared, found.bounded, found.decides, found.sides) == (True, False, True, 3)
    assert texts(found) == ["2Gi", "2 * 1Gi", "rows"]
    assert (found.premise, found.each) == (False, False)
    assert found.where.startswith("claims.yaml:")


def test_both_ends_of_what_was_published(figure):
    found = figure("name: range, published: [50, 800], found: rows * topk, premise: true")
    assert [end.text for end in found.published] == ["50", "800"]
    assert (found.sides, found.compared, found.premise) == (2, True, True)


CELLS = {"64Ki": 65536, "3.70": 3.7, "26581.04": 26581.04, "1_000": 1000, "1 + 1": 2, "OOM": "OOM"}
CELLS |= {"16K": "16K", "null": None, "~": None, "''": "", "true": None}


@pytest.mark.parametrize(("cell", "value"), CELLS.items())
def test_cells_are_numbers_words_or_nothing(read, cell, value):
    table = f"t: {{source: paper, columns: [n, a], rows: [[1, {cell}]], units: {{a: ms, b: GB}}}}"
    (claim,) = read(document("name: x, published: 1, found: 1", tables=table, more="table: t"))
    assert claim.table.rows == ((1, value),)
    assert claim.table.units == "a ms, b GB"
    named = claim.table.numbers(claim.table.rows[0])
    assert named == ({"n": 1, "a": value} if isinstance(value, int | float) else {"n": 1})


@pytest.mark.parametrize(("units", "text"), [("", "ms"), (", units: '%'", "%")])
def test_units_of_a_table(read, units, text):
    table = f"t: {{source: paper, columns: [n, a], rows: [[1, 2]]{units}}}"
    (claim,) = read(document("name: x, published: 1, found: 1", tables=table, more="table: t"))
    assert claim.table.units == text
