"""The work of printing grows at most linearly with the run, counted in bytecodes and calls."""

import io
import sys
from functools import partial

import pytest
from rich.console import Console

from harness.report.run_report import print_run


def bytecodes(call):
    """The number of this project's bytecodes that a call executes."""
    count = 0

    def step(frame, event, _):
        nonlocal count
        if "/harness/" not in frame.f_code.co_filename:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.fixture
def of_lengths(record, timing, describe):
    """The info and records of a panel: two implementations, one of them with failures."""

    def make(count):
        records = []
        for length in range(1, count + 1):
            seq = 64 * length
            times = [1e-6 * seq * (1 + 0.01 * (turn % 3)) for turn in range(6)]
            records.append(record("broadcast", seq, timing=timing(times)))
            if length % 2:
                records.append(record("scatter", seq, timing=timing(times)))
            else:
                records.append(record("scatter", seq, "timeout", reason=f"its turn took {seq} s"))
        return describe(records, "mask/broadcast"), records

    return make


def printed(info, records):
    print_run(Console(file=io.StringIO(), width=120), info, records)


def test_a_panel_twice_as_long_takes_twice_the_work(of_lengths):
    printed(*of_lengths(4))  # what is computed once for all runs
    short, middle, long = (bytecodes(partial(printed, *of_lengths(count))) for count in (20, 40, 80))
    assert long - middle <= 2.1 * (middle - short)
