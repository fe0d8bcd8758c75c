"""What a crash leaves to read: its traceback with causes, and what was printed before it."""

from pathlib import Path

import pytest

from harness.run.processes.executor import Ended

PLUGIN = Path(__file__).parent / "crashing_plugin.py"


def crash_of(topk, name):
    with pytest.raises(Ended) as end:
        topk.first_call("numpy", f"topk/{name}", PLUGIN, 60, trace_s=1.0)
    assert end.value.status == "crashed"
    return end.value


def test_an_exception_leaves_its_traceback_and_the_output_before_it(topk):
    raised, printed = crash_of(topk, "raises_aloud").output.split("Printed:")
    assert raised.startswith("Raised:\n\nTraceback")
    assert "KeyError: 'the cause'" in raised
    assert 'crashing_plugin.py", line 16, in topk' in raised
    assert raised.rstrip().endswith("ValueError: the effect")
    assert printed.startswith("\n\nabout to raise (")


def test_a_process_that_dies_leaves_what_it_printed(topk):
    crash = crash_of(topk, "leaves_aloud")
    assert "exit code 3" in crash.reason
    assert crash.output == "Printed:\n\nabout to leave\n"
