"""The kernels of a call on CUDA: named after its samples, whatever becomes of the profiler."""

import dataclasses

import pytest

from harness.core.errors import Unsupported
from harness.run.processes.executor import Ended
from tests.run.fakes import Act, FakeExecutor
from tests.run.plans import group, measure

CUDA = dataclasses.replace(
    group(), cases=tuple(dataclasses.replace(case, device="cuda") for case in group().cases), baselines={}
)


def test_the_kernels_of_a_case_are_named_after_its_samples(tmp_path):
    executor = FakeExecutor()
    records = measure(executor, tmp_path, CUDA)
    assert records["scatter"].kernels_run == (("fill", 1), ("scatter", 2))
    verbs = executor.verbs("scatter")
    assert verbs.index("kernels") > max(place for place, verb in enumerate(verbs) if verb == "sample")


def test_off_cuda_nothing_is_asked(tmp_path):
    executor = FakeExecutor()
    assert measure(executor, tmp_path)["scatter"].kernels_run == ()
    assert "kernels" not in executor.verbs("scatter")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"kernels": [], "refused": "CUPTI is denied"}, "CUPTI is denied"),
        (Unsupported("no profiler"), "no profiler"),
        (Ended("crashed", "killed by SIGSEGV"), "killed by SIGSEGV"),
        (Ended("timeout", "no answer within 60 s"), "no answer within 60 s"),
    ],
)
def test_a_profiler_that_fails_costs_a_case_none_of_its_figures(tmp_path, answer, why):
    record = measure(FakeExecutor({"scatter": Act(verbs={"kernels": answer})}), tmp_path, CUDA)["scatter"]
    assert (record.status, record.kernels_run, record.kernels_unknown) == ("ok", (), why)
    assert record.timing is not None
