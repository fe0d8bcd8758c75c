"""A claims.py as data. Errors in one are among the planted verdicts."""

import pytest

from harness.claims.documents import Citation, Source
from harness.core.errors import UsageError
from tests.claims.planted import HEAD, WIDE, document

WHOLE = f'''{HEAD}
ROWS = LETTER.table("""
    in ms and shares
    n      dense  sparse  said
    64Ki   8.0    4.00    2.0
    128Ki  30     OOM     -
    a      16K    1_000   ~
""")


@Claim("contradicted", PAPER["46,51"], LETTER, on="a TPU", target=("tpu:v5p", "tpu:v6e"), needs="the time",
       headline="Two is one.", rows=Ki, seq="128Ki")
def in_memory(e):
    """It needs
    2 GiB

    It is counted
    twice."""
    yield Figure("temp", "B", "2Gi", found=e.temp_bytes("a", "tpu:v5p"), within=(0.05, "rounded"))


@Claim("not checkable here", BLOG, on="GPU", table=ROWS)
def e2e(e):
    """Less"""
'''


def test_a_whole_file(read):
    memory, e2e = read(WHOLE)
    assert (memory.name, memory.where.rpartition("/")[2]) == ("mask/in-memory", "claims.py:17")
    paper = Source("Paper #1", "https://example.org/1", "Paper #1", "1a2b3c4", "paper")
    letter = Source("Paper #1, a letter", "https://example.org/1/letter", "Paper #1")
    assert memory.sources == (Citation(paper, "46,51"), Citation(letter))
    assert (memory.targets, memory.hardware, memory.needs) == (("tpu:v5p", "tpu:v6e"), "a TPU", "the time")
    assert (memory.given, memory.shape) == (
        {"rows": 1024, "seq": 131072},
        {"rows": 1024, "seq": 131072, "topk": 2},
    )
    assert (memory.says, memory.because) == ("It needs 2 GiB", "It is counted twice.")
    assert (memory.headline, memory.expect, memory.context) == ("Two is one.", "contradicted", False)
    assert (e2e.context, e2e.not_checkable, e2e.targets, e2e.because) == (True, True, (), "")


def test_a_table_has_its_cells_as_written(read):
    table = read(WHOLE)[1].table
    assert (table.id, table.units, table.columns) == (
        "rows",
        "ms and shares",
        ("n", "dense", "sparse", "said"),
    )
    assert table.rows == ((65536, 8.0, 4.0, 2.0), (131072, 30, "OOM", None), ("a", "16K", 1000, "~"))
    assert table.written[0] == ("64Ki", "8.0", "4.00", "2.0")


def test_ids_are_unique(read):
    with pytest.raises(UsageError, match=r"claims\.py:33: duplicate id e2e; it is also in .*claims\.py:28"):
        read(f'{WHOLE}\n\n@Claim("adds up", PAPER, on="any")\ndef e2e(e):\n    """More"""\n')


@pytest.mark.parametrize("table", ["n  n\n1  2", "n  a\n1  2  3"])
def test_a_row_fits_its_columns(read, table):
    with pytest.raises(UsageError, match=r"claims\.py:7: (two columns have the same name|a row has 2 cells)"):
        read(document("'a', published=1, found=1", table=f'PAPER.table("""\n{table}\n""")'))


def test_a_claim_needs_a_docstring(read):
    with pytest.raises(
        UsageError, match=r"claims\.py:8: one has no docstring; write the published statement there"
    ):
        read(f'{HEAD}\n@Claim("adds up", PAPER, on="any")\ndef one(e):\n    yield Figure("a", published=1)\n')


def test_claims_are_next_to_the_file_of_a_family(read, tmp_path):
    assert [one.id for one in read(document("'a', published=1, found=1"))] == ["one"]
    (tmp_path / "claims.py").unlink()
    from harness.claims.model import claims_of

    assert claims_of(WIDE) == ()
