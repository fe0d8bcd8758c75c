"""Who owns the peaks of two implementations, in lines."""

from dataclasses import replace

from harness.core.peak_owners import Owner, Owners
from harness.report.tables.owners_table import comparison_lines, owners_lines
from tests.records import record_of, static_of

MIB = 1 << 20


def planned(name, *sizes):
    """An implementation with an owner of each size in MiB, of a shape of its own."""
    owners = tuple(
        Owner(f"{name}.{at}", "temp", size * MIB, name, f"f32[{at},{size}]", f"{name}.py:{at}", 0, 1)
        for at, size in enumerate(sizes)
    )
    peak = sum(sizes) * MIB
    found = Owners(peak, 0, 0, 1, 2, owners, (0, 0), ((0, peak),))
    static = static_of(argument_bytes=0, output_bytes=0, temp_bytes=peak)
    return record_of(name, 1024, static={"host": replace(static, owners=found)})


def test_changes_and_the_rest_add_up_to_the_difference():
    lines = comparison_lines([planned("broadcast", 64, 4, 2, 1), planned("scatter", 32)], "host")
    assert lines == [
        "scatter plans 39 MiB less than broadcast at 1Ki on host:",
        "  went: 64 MiB, broadcast at broadcast.py:0, f32[0,64]",
        "  came: 32 MiB, scatter at scatter.py:0, f32[0,32]",
        "  went: 4 MiB, broadcast at broadcast.py:1, f32[1,4]",
        "  all others together: 3 MiB less",
    ]
    (head, *changes) = comparison_lines([planned("broadcast", 4), planned("scatter", 8)], "host")
    assert head == "scatter plans 4 MiB more than broadcast at 1Ki on host:"
    assert len(changes) == 2


def test_the_line_of_live_bytes_says_where_the_peak_is():
    *_, live = owners_lines(planned("scatter", 32), "host")
    assert live == "live ██ at most 32 MiB; the peak is at instruction 1"
