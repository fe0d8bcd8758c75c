"""Records of one suite of family mask."""

from collections.abc import Sequence
from typing import Any

import pytest

from harness.analysis.results import SuiteRecords, label_of
from harness.core.record import Record
from tests.records import PASSED, record_of, static_of, timing_of


def timed_record(name: str, seq: int, samples: Sequence[float] | None = None, **more: Any) -> Record:
    """A record, timed if `samples` are given; timed records have passed their contract."""
    if samples:
        more["timing"] = timing_of(samples)
    if "timing" in more:
        more.setdefault("correctness", PASSED)
    return record_of(name, seq, **more)


def suite_of(records: Sequence[Record], baseline: str = "mask/base") -> SuiteRecords:
    labels = tuple(dict.fromkeys(label_of(record) for record in records))
    return SuiteRecords("s", "mask", baseline, labels, tuple(records))


record = pytest.fixture(lambda: timed_record, name="record")
static = pytest.fixture(lambda: static_of, name="static")
timing = pytest.fixture(lambda: timing_of, name="timing")
suite = pytest.fixture(lambda: suite_of, name="suite")
