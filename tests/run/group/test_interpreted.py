"""Cases that run in an interpreter here are verified, but not timed."""

import pytest

from harness.catalog import known_frameworks
from harness.catalog.known_frameworks import FrameworkTraits
from harness.run.processes.executor import Ended
from tests.run.fakes import Act, FakeExecutor
from tests.run.plans import context, group, measure

INTERPRETED = FrameworkTraits(runner="", packages=(), interpreted_on=("cpu",), planned_for=("tpu:v5p",))
SLOW = Ended("timeout", "no reply within 60 s; raise --timeout")


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    """Use jax's cases as cases of a framework that is interpreted on the cpu."""
    monkeypatch.setitem(known_frameworks.BUILT_IN, "jax", f"{__name__}:INTERPRETED")


def verbs_of(executor):
    return set(executor.verbs("scatter"))


def test_correct_interpreted_case_is_planned_and_untimed(tmp_path):
    executor = FakeExecutor()
    record = measure(executor, tmp_path)["scatter"]
    assert (record.status, record.correctness.passed, record.timing) == ("planned", True, None)
    assert "interpreter" in record.reason
    assert "sample" not in verbs_of(executor)


def test_check_of_interpreted_case_is_ok(tmp_path):
    executor = FakeExecutor()
    assert (
        measure(executor, tmp_path, shared=context(executor, tmp_path, depth="check"))["scatter"].status
        == "ok"
    )


def test_interpreter_timeout_skips_longer_lengths(tmp_path):
    executor = FakeExecutor({"scatter": Act(verbs={"check": SLOW})})
    shared = context(executor, tmp_path)
    first, second = (measure(executor, tmp_path, group(seq=seq), shared=shared) for seq in (1024, 4096))
    for found in (first["scatter"], second["scatter"]):
        assert (found.status, found.correctness) == ("planned", None)
        assert "not checked, because" in found.reason
        assert "at 1Ki tokens" in found.reason
    assert executor.verbs("scatter").count("check") == 1
    assert first["broadcast"].correctness.passed
