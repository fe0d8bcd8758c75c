"""Buffers of a peak that grew, appeared or disappeared, matched by properties that edits do not change."""

from dataclasses import replace

from harness.core.peak_owners import Owner, OwnerChange, Owners, owner_changes

MASK = Owner("fusion.1", "temp", 4 << 20, "eq", "pred[1024,1024,4]", "mask.py:22")
COPY = Owner("copy.3", "temp", 4 << 20, "copy", "f32[1024,1024]", "mask.py:24")
INPUT = Owner("x", "argument", 1 << 20, "", "f32[262144]", "")


def owners(*buffers):
    total = sum(buffer.bytes for buffer in buffers)
    return Owners(total, 0, 0, buffers, (0, 0))


def test_new_and_removed_buffers_are_reported():
    assert owner_changes(owners(INPUT), owners(INPUT, COPY)) == (OwnerChange(None, COPY),)
    (went,) = owner_changes(owners(INPUT, COPY), owners(INPUT))
    assert (went.now, went.bytes) == (None, -(4 << 20))


def test_a_buffer_of_another_line_and_name_is_the_same_one():
    moved = replace(MASK, name="fusion.7", source="mask.py:30")
    assert owner_changes(owners(INPUT, MASK), owners(moved, INPUT)) == ()


def test_a_buffer_that_its_line_makes_larger_has_grown():
    larger = replace(MASK, bytes=16 << 20, shape="pred[2048,2048,4]", name="fusion.2")
    assert owner_changes(owners(MASK, INPUT), owners(larger, INPUT)) == (OwnerChange(MASK, larger),)


def test_one_of_two_equal_buffers_is_new():
    second = replace(COPY, name="copy.4", source="mask.py:25")
    (change,) = owner_changes(owners(COPY), owners(COPY, second))
    assert (change.before, change.bytes) == (None, 4 << 20)


def test_the_largest_difference_comes_first():
    changes = owner_changes(owners(MASK), owners(INPUT, replace(COPY, bytes=1 << 30)))
    assert [abs(change.bytes) for change in changes] == [1 << 30, 4 << 20, 1 << 20]
