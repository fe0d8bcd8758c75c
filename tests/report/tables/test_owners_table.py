"""Who owns the peaks of two implementations, in lines and sentences."""

from dataclasses import replace

from harness.core.peak_owners import MOST, Owner, OwnerChange, Owners
from harness.report.tables.owners_table import (
    change_sentence,
    comparison_lines,
    peak_sentence,
    place_of,
    reservations,
)
from tests.records import record_of, static_of

MIB = 1 << 20


def planned(name, *sizes):
    """An implementation with an owner of each size in MiB, of a shape of its own."""
    owners = tuple(
        Owner(f"{name}.{at}", "temp", size * MIB, name, f"f32[{at},{size}]", f"{name}.py:{at}")
        for at, size in enumerate(sizes)
    )
    peak = sum(sizes) * MIB
    found = Owners(peak, 0, 0, owners, (0, 0))
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


BIG = Owner("fusion.1", "temp", 32 << 30, "eq", "pred[1,2]", "impls/mask/broadcast.py:21")
INPUT = Owner("q", "argument", 1 << 30, "", "f32[268435456]", "")
PEAK = Owners(33 << 30, 0, 0, (BIG, INPUT), (0, 0))


def test_the_sentence_names_the_large_buffer_and_its_line():
    assert peak_sentence(PEAK) == "peak 33 GiB: 32 GiB is eq at impls/mask/broadcast.py:21"
    even = replace(PEAK, owners=(INPUT,), peak_bytes=20 << 30)
    assert (
        peak_sentence(even) == "peak 20 GiB: none of its buffers is a tenth of it, the argument q is largest"
    )
    short = replace(PEAK, owners=(replace(INPUT, bytes=9 << 30),), peak_bytes=9 << 30)
    assert peak_sentence(short).endswith("9 GiB is the argument q")
    none = replace(PEAK, owners=(), gap_bytes=33 << 30)
    assert peak_sentence(none) == "peak 33 GiB: the compiler lists no buffer at it"


def test_what_made_a_buffer():
    assert place_of(replace(BIG, kind="output")) == "the result of eq at impls/mask/broadcast.py:21"
    assert place_of(replace(BIG, kind="saved")).endswith("broadcast.py:21, saved for the backward")
    assert place_of(replace(BIG, source="", operator="fusion")) == "fusion (fusion.1), which no line names"


def test_owners_that_are_not_the_plan_say_by_how_much():
    assert reservations(PEAK) == []
    assert reservations(replace(PEAK, difference_bytes=-512)) == [
        "approximate: the buffers take 512 B less than the figures plan"
    ]
    assert "4 GiB of the plan are in no listed buffer" in reservations(replace(PEAK, gap_bytes=4 << 30))[0]


def test_a_change_in_a_sentence():
    assert change_sentence(OwnerChange(None, BIG)) == (
        "came: 32 GiB, eq at impls/mask/broadcast.py:21, pred[1,2]"
    )
    half = replace(BIG, bytes=16 << 30)
    assert change_sentence(OwnerChange(half, BIG)).startswith("grew: 16 GiB -> 32 GiB, eq at")
    assert change_sentence(OwnerChange(BIG, half)).startswith("shrank: 32 GiB -> 16 GiB")
    assert change_sentence(OwnerChange(INPUT, None)) == "went: 1 GiB, the argument q, f32[268435456]"


def test_small_buffers_are_summed():
    many = [replace(INPUT, name=str(size), bytes=size) for size in range(1, MOST + 4)]
    total = sum(owner.bytes for owner in many)
    found = Owners.of(many, total + 8, total)
    assert ([owner.bytes for owner in found.owners][:2], len(found.owners)) == ([MOST + 3, MOST + 2], MOST)
    assert (found.others, found.gap_bytes, found.difference_bytes) == ((3, 1 + 2 + 3), 8, 8)
