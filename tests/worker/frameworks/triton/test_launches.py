"""Which launches of a traced call are its own."""

import pytest


@pytest.mark.torch
def test_what_makes_a_call_ready_is_no_launch_of_it():
    pytest.importorskip("triton")
    from harness.worker.frameworks.triton.launches import Launch, Recorder

    recorder = Recorder()

    def bind(inputs, cotangent):
        recorder.launches.append(Launch("forward", "flash.py:1", (1,)))
        return lambda: recorder.launches.append(Launch("backward", "flash.py:9", (1,)))

    recorder.of_timed_call(bind)({}, None)()
    assert [launch.kernel for launch in recorder.launches] == ["backward"]
