"""Causal work of context-parallel ranks, against a count token by token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.document_rows import document_rows, imbalance
from harness.catalog.packing import packed_rows
from tests.records import record_of


def counted(rows, seq, ranks, *, zigzag):
    work = [0] * ranks
    parts = 2 * ranks if zigzag else ranks
    for row in rows:
        keys = [place + 1 for tokens in row for place in range(tokens)]
        keys += [0] * (seq - len(keys))
        for token, attended in enumerate(keys):
            part = max(p for p in range(parts) if p * seq // parts <= token)
            work[min(part, parts - 1 - part) if zigzag else part] += attended
    return max(work) / (sum(work) / ranks)


@given(
    st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=6), min_size=1, max_size=3),
    st.integers(0, 20),
    st.integers(1, 8),
    st.booleans(),
)
def test_imbalance_is_that_of_a_count_token_by_token(rows, padding, ranks, zigzag):
    seq = max(map(sum, rows)) + padding
    assert imbalance(rows, seq, ranks, zigzag=zigzag) == pytest.approx(
        counted(rows, seq, ranks, zigzag=zigzag)
    )


def test_one_long_document_is_balanced_by_zigzag_alone():
    assert imbalance([[1 << 20]], 1 << 20, 8) == pytest.approx(2 - 1 / 8, rel=1e-5)
    assert imbalance([[1 << 20]], 1 << 20, 8, zigzag=True) == pytest.approx(1, rel=1e-5)
    assert imbalance([[4] * 16], 64, 8) == 1


def test_rows_are_those_of_the_workload():
    workload = {"batch": 2, "lengths": "pretrain", "packing": "best_fit_decreasing", "packing_seed": 5}
    found = document_rows(record_of("a", 16384, workload=workload))
    assert found.rows == packed_rows("pretrain", "best_fit_decreasing", 5, 16384, 2)
    assert document_rows(record_of("a", 16384)) is None


def test_a_file_that_is_gone_is_a_reason():
    found = document_rows(record_of("a", 4096, workload={"lengths": "gone.csv#0123456789ab"}))
    assert found.reason == "gone.csv cannot be read: No such file or directory; name a CSV file"
    assert found.rows == ()
