"""What a crash leaves to read: its traceback with causes, and what was printed before it."""

from pathlib import Path

import pytest

from harness.run.processes.executor import Ended

PLUGIN = Path(__file__).parent / "crashing_plugin.py"


def output_of(topk, name):
    with pytest.raises(Ended) as end:
        topk.first_call("numpy", f"topk/{name}", PLUGIN, 60, trace_s=1.0)
    return end.value.status, end.value.output


def test_an_exception_leaves_its_traceback_and_the_output_before_it(topk):
    status, output = output_of(topk, "raises_aloud")
    assert status == "crashed"
    raised, printed = output.split("Printed:")
    assert raised.startswith("Raised:\n\nTraceback")
    assert "KeyError: 'the cause'" in raised
    assert 'crashing_plugin.py", line 16, in topk' in raised
    assert raised.rstrip().endswith("ValueError: the effect")
    assert printed.startswith("\n\nabout to raise (")


def test_a_process_that_dies_leaves_what_it_printed(topk):
    assert output_of(topk, "leaves_aloud") == ("crashed", "Printed:\n\nabout to leave\n")
