"""Limits apply to a process, so each is tested in a separate process."""

import pytest

from harness.worker import resource_limits

MIB = 1 << 20


def test_memory_is_capped_at_mapped_bytes_plus_the_limit(printed):
    lines = printed("""
from harness.worker import resource_limits
resource_limits.cap_memory(64 << 20)
kept = bytearray(48 << 20)
try:
    more = bytearray(32 << 20)
except MemoryError:
    print("refused")
with resource_limits.lift_memory_cap():
    more = bytearray(32 << 20)
    print("lifted")
try:
    again = bytearray(32 << 20)
except MemoryError:
    print("refused again")
""")
    assert lines == ["refused", "lifted", "refused again"]


def test_peak_growth_starts_at_the_resident_size(printed):
    lines = printed("""
from harness.worker import resource_limits
before = bytearray(200 << 20)
rise = resource_limits.track_peak()
during = bytearray(100 << 20)
del during
small = bytearray(10 << 20)
print(rise() >> 20)
again = resource_limits.track_peak()
print(again() >> 20)
""")
    assert 95 <= int(lines[0]) <= 110, "peak growth, not the earlier or the current size"
    assert int(lines[1]) <= 5, "an earlier peak does not count"


def test_a_process_prefers_its_oom_kill_and_is_pinned(printed):
    lines = printed("""
import os
from pathlib import Path
from harness.worker import resource_limits
resource_limits.prefer_oom_kill()
resource_limits.pin(1)
print(Path("/proc/self/oom_score_adj").read_text().strip(), len(os.sched_getaffinity(0)))
resource_limits.pin(500)
print(len(os.sched_getaffinity(0)))
""")
    assert lines == ["1000 1", "1"]


@pytest.mark.parametrize(
    ("threads", "asked", "cores"),
    [
        (1, {}, [2]),
        (1, {"first": 1}, [3]),
        (2, {"first": 3}, [7, 2]),
        (1, {"first": 4}, [2]),
        (2, {"last": True}, [7, 5]),
        (9, {"first": 2}, [5, 7, 2, 3]),
    ],
)
def test_cores_wrap_around_from_the_first_or_the_last(monkeypatch, threads, asked, cores):
    bound = []
    monkeypatch.setattr(resource_limits.os, "sched_getaffinity", lambda _: {7, 2, 5, 3})
    monkeypatch.setattr(resource_limits.os, "sched_setaffinity", lambda _, chosen: bound.extend(chosen))
    resource_limits.pin(threads, **asked)
    assert bound == cores


def chain_of_errors():
    error = ValueError("it failed")
    error.__cause__ = MemoryError()
    return error


def circular():
    error = ValueError("it failed")
    error.__cause__ = KeyError("other")
    error.__cause__.__cause__ = error
    return error


@pytest.mark.parametrize(
    ("error", "oom"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), True),
        (ValueError("RESOURCE_EXHAUSTED: Out of memory"), True),
        (chain_of_errors(), True),
        (circular(), False),
        (ValueError("shapes differ"), False),
        (None, False),
    ],
)
def test_exhausted_memory_is_recognised(error, oom):
    assert resource_limits.is_oom(error) is oom
