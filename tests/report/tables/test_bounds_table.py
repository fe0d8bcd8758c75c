"""The table of bounds: known answers from a device's documented rates."""

from dataclasses import replace

import pytest

from harness.core.record import Cost
from harness.report.console import TextConsole
from harness.report.tables.bounds_table import bound_lines, bounds_table, print_roofline, sentences
from tests.report.charts.suites import record, static, suite
from tests.rooflines import machine

K = 1024
LENGTHS = (K, 4 * K, 16 * K)


def costing(name, seq, flops, bytes_=1):
    return record(
        name,
        seq,
        status="planned",
        workload={"dtype": "bf16"},
        static={target: static(2**20) for target in ("cuda:h100", "cuda:a100")},
        cost=Cost(flops, bytes_, None),
    )


def texts(*cases):
    table = bounds_table(suite(*cases))
    return [column.title for column in table.columns], [[cell.text for cell in row] for row in table.rows]


def test_bounds_at_the_longest_length_and_where_one_falls_below_the_baselines():
    dense = [costing("broadcast", seq, 989e12 * (seq / (16 * K)) ** 2) for seq in LENGTHS]
    sparse = [costing("sparse", seq, 989e12 * seq / (64 * K)) for seq in LENGTHS]
    titles, rows = texts(*dense, *sparse)
    assert titles == ["bound at 16Ki", "cuda:a100", "cuda:h100", "below broadcast's from"]
    assert rows == [["broadcast", "3.17 s", "1.00 s", "–"], ["sparse", "792 ms", "250 ms", "16Ki"]]


def test_a_bound_by_bytes_says_so():
    _, rows = texts(costing("broadcast", K, 1e12), costing("copy", K, 1.0, 3_352_320_000_000))
    assert rows[1][1:3] == ["1.64 s (bytes)", "1.00 s (bytes)"]


@pytest.mark.parametrize("flops", [1e12, None])
def test_bounds_that_are_all_the_same_or_unknown_compare_nothing(flops):
    assert texts(costing("broadcast", K, flops), costing("sparse", K, flops))[1] == []


def test_bounds_in_a_sentence_say_from_where_one_is_below_the_baselines():
    dense = [costing("broadcast", seq, 989e12 * (seq / (16 * K)) ** 2) for seq in LENGTHS]
    sparse = [costing("sparse", seq, 989e12 * seq / (64 * K)) for seq in LENGTHS]
    small = [costing("small", seq, 989e9) for seq in LENGTHS]
    _, line = bound_lines(suite(*dense, *sparse, *small))
    assert line == (
        "cuda:h100: a call at 16Ki takes, by the family's formulas at documented rates, at least: "
        "broadcast 1.00 s; sparse 250 ms (below broadcast's from 16Ki on); "
        "small 1.00 ms (below broadcast's from 1Ki on, the shortest compiled)."
    )
    assert bound_lines(suite(costing("broadcast", K, None))) == []
    assert bound_lines(suite(costing("broadcast", K, 1e12), costing("sparse", K, 1e12))) == []


def test_where_the_roofs_meet_and_a_busy_machine_says_so():
    (sentence,) = sentences(machine(), 2)
    assert sentence == (
        "Products of f32 reach 100 GFLOP/s and streams from DRAM 10 GB/s: "
        "what does fewer than 10 FLOPs for a byte of DRAM is bound by memory."
    )
    busy = sentences(replace(machine(), load=9.24), 2)[1]
    assert busy.startswith("The load average was 9.2 on 2 cores")
    assert busy.endswith("measure again when it has ended.")


def test_a_row_per_ceiling_and_a_datasheets_peak_is_called_one(capsys):
    facts = {"gpu": {"name": "NVIDIA H100 80GB HBM3"}, "cores": 2}
    print_roofline(TextConsole(width=100), facts, machine())
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "f32 100 GFLOP/s 90 GFLOP/s [80, 100] matrix product, n = 512" in rows
    assert "DRAM 10 GB/s 9.0 GB/s [8.0, 10.0] copy, 16.0 MiB" in rows
    assert "bf16 989 TFLOP/s datasheet, not measured" in rows
