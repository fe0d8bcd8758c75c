"""A suite's tables of times and figures, their footnotes, and which columns they have."""

import pytest

from harness.core.errors import UsageError
from harness.report.tables.suite import CHOICES, check_columns, suite_table
from tests.report.tables.columns import texts


def table_of(suite):
    (panel,) = suite.panels.values()
    return suite_table(panel)


def test_rows_are_lengths_then_implementations_in_the_suites_order(run, suite):
    table = table_of(suite(list(reversed(run)), "mask/broadcast"))
    assert texts(table, "seq")[0::4] == ["4Ki", "16Ki", "64Ki", "128Ki"]
    names = "two_stage[buckets=4096,keep=2] threshold_literal scatter broadcast"
    assert texts(table, "implementation")[:4] == names.split()
    assert table.breaks == (4, 8, 12)
    assert table.title == "mask: batch=1 dtype=f32 rows=128 topk=2Ki, fwd on cpu"


H100 = {"device": "cuda", "cpu": "AMD EPYC", "gpu": {"name": "NVIDIA H100 80GB HBM3"}}
RATIOS = ("temp/base", "bytes/base", "FLOPs/base")


def titles(table):
    return [column.title for column in table.columns]


def test_ratios_of_static_figures_stand_where_they_are_asked_for(run, suite):
    (panel,) = suite(run).panels.values()
    assert not set(RATIOS) & set(titles(suite_table(panel)))
    table = suite_table(panel, requested=RATIOS)
    assert set(RATIOS) <= set(titles(table))
    assert texts(table, "temp/base")[:3] == ["", "0.00195×", "0.00195×"]


def test_what_is_asked_for_yields_to_a_narrow_terminal_last(run, suite):
    (panel,) = suite(run).panels.values()
    ranks = {c.title: c.rank for c in suite_table(panel, requested=("95 %", "peak", "time")).columns}
    assert (ranks["time"], ranks["95 %"], ranks["peak"]) == (0, 1, 1)
    assert min(rank for title, rank in ranks.items() if title not in {"95 %", "peak"} and rank) > 1


def test_an_unknown_column_lists_those_that_exist():
    check_columns(CHOICES)
    with pytest.raises(UsageError, match='unknown column "GFLOP/s"; nearest: "FLOP/s"; known: time, 95 %'):
        check_columns(["time", "GFLOP/s"])
