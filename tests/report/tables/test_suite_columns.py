"""Which columns a table of times has: the rates in a readable unit, and those that are asked for."""

import pytest

from harness.analysis.suite_results import results_of
from harness.core.errors import UsageError
from harness.core.record import Cost
from harness.report.tables.suite import CHOICES, check_columns, suite_table
from tests.report.tables.columns import texts

H100 = {"device": "cuda", "cpu": "AMD EPYC", "gpu": {"name": "NVIDIA H100 80GB HBM3"}}
RATIOS = ("temp/base", "bytes/base", "FLOPs/base")


@pytest.fixture
def rated(record, timing, describe):
    """The table of two cases that take 2 and 1 ms for the same work."""

    def build(cost, facts=None, **more):
        records = [
            record(name, 4096, timing=timing([s] * 6), cost=cost, fingerprint="f", **more)
            for name, s in (("broadcast", 0.002), ("scatter", 0.001))
        ]
        info = {**describe(records, "mask/broadcast"), "fingerprints": {"f": facts} if facts else {}}
        (panel,) = results_of(info, records)[0].panels.values()
        return suite_table(panel)

    return build


def titles(table):
    return [column.title for column in table.columns]


def test_the_unit_of_a_rate_suits_its_table(rated):
    table = rated(Cost(flops=4e8, bytes=1.5e3, dense_flops=8e12))
    assert texts(table, "GFLOP/s") == ["200.0", "400.0"]
    assert texts(table, "MB/s") == ["0.7500", "1.500"]
    assert texts(table, "dense PFLOP/s") == ["4.000", "8.000"]


def test_a_known_peak_stands_beside_the_rate(rated):
    table = rated(Cost(flops=4e11, bytes=1e9), H100, device="cuda", workload={"dtype": "bf16"})
    assert texts(table, "TFLOP/s (% peak)") == ["200.0 (20.22)", "400.0 (40.44)"]


def test_why_there_is_no_peak_is_said_below(rated):
    (caption,) = {column.caption for column in rated(Cost(bytes=1e9)).columns if "B/s" in column.title}
    assert caption.endswith("; no peak is documented for this processor.")


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
