from collections import Counter
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.catalog.generated_inputs import PACKERS, best_fit_decreasing, first_fit, packed_rows
from harness.core.errors import Unsupported
from harness.core.paths import PACKAGE
from harness.core.workload_files import identify_table, parse_table

ROW = 128 * 1024
FIRST_FIT = (491, 170, 3682, 86, 2053, 2035, 3381, 325, 2306, 767, 989)
BEST_FIT = (1557, 3682, 3381, 2560, 16, 5163)


@given(
    st.lists(st.integers(1, ROW), min_size=1, max_size=300),
    st.sampled_from([first_fit, best_fit_decreasing]),
)
def test_packers_keep_every_document_whole_and_overfill_no_row(documents, pack):
    rows = pack(documents, ROW)
    assert Counter(tokens for row in rows for tokens in row) == Counter(documents)
    assert all(row and sum(row) <= ROW for row in rows)
    # No two rows fit into one: the later would have been put into the earlier.
    assert len(rows) < 2 or sum(sorted(map(sum, rows))[:2]) > ROW


def test_packers_follow_their_algorithms():
    documents = [5, 7, 5, 3, 2, 4]
    assert first_fit(documents, 10) == [[5, 5], [7, 3], [2, 4]]
    assert best_fit_decreasing(documents, 10) == [[7, 3], [5, 5], [4, 2]]
    assert best_fit_decreasing([6, 8, 2], 10) == [[8, 2], [6]]
    assert first_fit([6, 8, 2], 10) == [[6, 2], [8]]


@given(st.sampled_from(PACKERS), st.integers(0, 10_000), st.sampled_from([512, ROW]), st.integers(1, 4))
def test_rows_of_real_documents_contain_whole_documents(packing, seed, seq, count):
    rows = packed_rows("pretrain", packing, seed, seq, count)
    assert len(rows) == count
    for row in rows:
        assert all(1 <= tokens <= min(seq, 196_608) for tokens in row)
        ends = list(accumulate(row))
        assert ends[-1] <= seq
        assert len(set(ends)) == len(row)
    packed_rows.cache_clear()
    assert rows == packed_rows("pretrain", packing, seed, seq, count)


def test_a_layout_is_the_same_on_every_machine():
    """Pinned: a stored case's FLOPs are those of its layout."""
    assert packed_rows("pretrain", "first_fit", 0, 16384, 1)[0] == FIRST_FIT
    assert packed_rows("pretrain", "best_fit_decreasing", 0, 16384, 1)[0] == BEST_FIT
    assert packed_rows("single", "first_fit", 3, 77, 2) == ((77,), (77,))
    assert packed_rows("pretrain", "first_fit", 1, 16384, 1) != packed_rows(
        "pretrain", "first_fit", 0, 16384, 1
    )


def test_the_order_does_not_depend_on_the_packer():
    row = packed_rows("pretrain", "best_fit_decreasing", 1, ROW, 1)[0]
    assert list(row) not in (sorted(row), sorted(row, reverse=True))


def test_the_published_histogram_is_complete():
    file = PACKAGE / "catalog/pretrain_lengths.csv"
    table = parse_table(file.name, file.read_bytes())
    assert sum(entry.documents for entry in table) == 13_463_214
    assert {later.shortest - entry.longest for entry, later in pairwise(table)} == {1}
    tokens = [entry.documents * (entry.shortest + entry.longest) / 2 for entry in table]
    assert sum(tokens) / 13_463_214 == pytest.approx(1780, rel=0.01)  # bin middles


def test_documents_of_a_file_are_drawn_from_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("tokens,documents\n30,1\n70,1\n500,1\n")
    mine = identify_table("mine.csv")
    row = packed_rows(mine, "first_fit", 0, 200, 1)[0]
    assert set(row) <= {30, 70, 200}  # a longer one is truncated to the row
    Path("mine.csv").write_text("tokens\n1\n")
    with pytest.raises(Unsupported, match="rows of 1048576 tokens contain too many documents"):
        packed_rows(identify_table("mine.csv"), "first_fit", 0, 1 << 20, 1)


def test_a_changed_file_is_refused_under_its_old_identity(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("its.csv").write_text("tokens\n30\n")
    before = identify_table("its.csv")
    Path("its.csv").write_text("tokens\n31\n")
    with pytest.raises(Unsupported, match=r"its.csv has changed"):
        packed_rows(before, "first_fit", 0, 200, 1)
