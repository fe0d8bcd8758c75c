"""What is said and shown of real document lengths."""

import pytest

from harness.analysis.suite_results import results_of
from harness.core.record import Cost
from harness.report.tables.documents import loss_lines, loss_table, rows_table
from tests.records import PASSED, record_of, timing_of
from tests.report.conftest import info_of


def timed(name, seconds, flops, seq=4096, rounds=6, **workload):
    timing = timing_of([seconds] * rounds)
    return record_of(name, seq, timing=timing, correctness=PASSED, cost=Cost(flops=flops), workload=workload)


def suite_of(*records):
    (suite,) = results_of(info_of(records, "mask/a"), records)
    return suite


@pytest.fixture
def suite():
    return suite_of(
        timed("a", 4.0, 100.0, lengths="single"),
        timed("b", 4.0, 100.0, lengths="single"),
        timed("a", 2.0, 20.0, lengths="pretrain"),
        timed("b", 1.0, 20.0, lengths="pretrain", rounds=5),
    )


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_a_sentence_says_how_much_of_the_rate_is_kept(suite):
    (line,) = loss_lines(suite)
    said, ratios = line.split(": ")
    assert said == "lengths=pretrain at 4Ki keeps of the FLOP/s of one long document"
    assert ratios == "a 0.4000× [0.4000, 0.4000], b 0.80× (no interval)."


def test_without_flops_it_is_the_time():
    suite = suite_of(timed("a", 4.0, None, lengths="single"), timed("a", 2.0, None, lengths="pretrain"))
    says = "lengths=pretrain at 4Ki takes of the time of one long document: a 0.5000× [0.5000, 0.5000]."
    assert loss_lines(suite) == [says]
    table = loss_table(suite)
    assert texts(table) == [["pretrain", "4Ki", "a", "0.5000× [0.5000, 0.5000]", "–", "–"]]


def test_a_row_per_implementation(suite):
    table = loss_table(suite)
    assert texts(table) == [
        ["pretrain", "4Ki", "a", "0.5000× [0.5000, 0.5000]", "0.200×", "0.4000× [0.4000, 0.4000]"],
        ["", "", "b", "0.25× (no interval)", "0.200×", "0.80× (no interval)"],
    ]


def test_several_panels_are_told_apart():
    records = [
        timed("a", 1.0, 1.0, lengths=lengths, heads=heads)
        for heads in (1, 2)
        for lengths in ("single", "pretrain")
    ]
    assert [row[0] for row in texts(loss_table(suite_of(*records)))] == [
        f"batch=1,dtype=f32,heads={heads},lengths=pretrain:fwd:cpu" for heads in (1, 2)
    ]


def test_rows_and_their_imbalance(suite):
    assert texts(rows_table(suite))[0] == [
        *("single", "first_fit", "4Ki", "1", "4Ki", "0.0 %", "1.87×", "1.00×", "1.98×", "1.00×")
    ]
    gone = rows_table(suite_of(timed("a", 1.0, None, lengths="gone.csv#0123456789ab")))
    assert texts(gone) == [["gone.csv#0123456789ab", "first_fit", "4Ki", *["–"] * 7]]
    assert gone.rows[0][3].notes[0].startswith("gone.csv cannot be read")


def test_without_documents_nothing_is_said():
    suite = suite_of(timed("a", 1.0, 1.0), timed("b", 1.0, 1.0))
    assert (loss_lines(suite), texts(loss_table(suite)), texts(rows_table(suite))) == ([], [], [])
