"""The measured ceilings of a machine as people read them."""

from dataclasses import replace

from harness.report.console import TextConsole
from harness.report.tables.ceilings_table import print_roofline, sentences
from tests.rooflines import machine


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
