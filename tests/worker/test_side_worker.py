"""A process with several cases, which alternate without affecting each other."""

import os

import numpy as np
import pytest

from harness.core.case import Case
from harness.core.errors import SideError
from harness.core.protocol import Job
from harness.run.processes.executor import Ended
from harness.worker import array_files

PLUGIN = """
from dataclasses import dataclass

from harness import Array, Family, Semantics, axis, implementation, tolerance


@dataclass(frozen=True)
class Points:
    seq: int = axis()


BOUND = {"f32": 1e-5}
FAMILY = Family(
    name="points",
    question="?",
    workload=Points,
    shapes=lambda w: {"x": Array((w.seq,), "f32")},
    inputs=lambda w, rng: {"x": rng.standard_normal(w.seq)},
    semantics={
        "double": Semantics(
            "double",
            lambda w, rows: lambda x: 2 * x,
            tolerance(BOUND),
            gradient=tolerance(BOUND),
            framework="torch",
        )
    },
    modes=("fwd", "fwd_bwd"),
)


@implementation(framework="numpy", semantics="double")
def twice(w: Points):
    return lambda x: 2 * x


@implementation(framework="numpy", semantics="double")
def thrice(w: Points):
    return lambda x: 3 * x


@implementation(framework="torch", semantics="double")
def graded(w: Points):
    import torch
    return lambda x: x * (2 if torch.is_grad_enabled() else 3)
"""
X = np.arange(8, dtype=np.float32)


@pytest.fixture
def folder(tmp_path):
    """The arrays that a reference worker writes for a group, and the plugin."""
    (tmp_path / "points.py").write_text(PLUGIN)
    for index in range(3):
        array_files.write(tmp_path / f"set{index}", {"x": X + index})
        array_files.write(tmp_path / f"cotangent{index}", (np.ones_like(X),))
    array_files.write(tmp_path / "cotangent-double", (np.ones_like(X),))
    return tmp_path


def job_of(folder, name="twice", framework="numpy", mode="fwd", **more):
    return Job(
        role="case",
        framework=framework,
        module=str(folder / "points.py"),
        case=Case.of(f"points/{name}", {}, {"seq": 8}, mode),
        group="a group",
        folder=str(folder),
        seed=0,
        threads=1,
        memory_bytes=1 << 30,
        **more,
    )


class Side:
    """A side's process with its cases, by name."""

    def __init__(self, processes, folder, framework="numpy", **more):
        self.folder = folder
        self.process = processes.spawn("side", framework, "", "", folder, **more)

    def hold(self, key, *what, **more):
        assert self.process.ask("hold", 60, case=key, job=job_of(self.folder, *what, **more).to_json()) == {}
        return self.turn(key, "prepare", trace_s=0.0)

    def turn(self, key, verb, **arguments):
        return self.process.ask("turn", 60, case=key, asks=verb, **arguments)

    def result(self, key, verb="check", cotangent=None):
        """The output of its first call, or of a checked call on the second set's values."""
        if verb == "check":
            self.turn(key, verb, cotangent=cotangent, result="result")
        else:
            fresh = {"inputs": "set1", "cotangent": cotangent, "result": "result"}
            self.turn(key, verb, readings=1, inner=1, warm=True, fresh=fresh)
        return array_files.read(self.folder / "result")["result"]


@pytest.fixture
def start_side(processes, folder):
    made = []

    def make(*what, **more):
        made.append(Side(processes, folder, *what, **more))
        return made[-1]

    yield make
    for one in made:
        one.process.close()


def test_two_cases_alternate_in_one_process(start_side):
    side_process = start_side()
    for key, name in (("1", "twice"), ("2", "thrice")):
        assert side_process.hold(key, name)["input_bytes"] == X.nbytes
    for key, factor in (("2", 3), ("1", 2), ("2", 3)):
        np.testing.assert_array_equal(side_process.result(key), factor * X)
    for key in "12":
        ready = side_process.turn(key, "ready", sets=2, cotangents=False)
        assert ready == {"method": "wall", "cache": "rotated", "reason": ""}
    for key in "1212":
        answer = side_process.turn(key, "sample", readings=3, inner=2, warm=False)
        assert (len(answer["samples_s"]), answer["compiled"], answer["latency_s"]) == (3, 0, None)
    for key, factor in (("1", 2), ("2", 3)):
        np.testing.assert_array_equal(side_process.result(key, "sample"), factor * (X + 1))


def test_dropping_a_case_does_not_affect_others(start_side):
    side_process = start_side()
    for key in "12":
        side_process.hold(key)
    assert side_process.process.ask("drop", 60, case="1") == {}
    with pytest.raises(Ended, match="KeyError") as ended:
        side_process.result("1")
    assert ended.value.alive
    np.testing.assert_array_equal(side_process.result("2"), 2 * X)


def test_a_module_from_another_folder_is_a_side_error(start_side, folder, tmp_path_factory):
    side_process = start_side()
    elsewhere = str(tmp_path_factory.mktemp("elsewhere"))
    with pytest.raises(SideError, match=r"was imported from .*points\.py, not from .*elsewhere"):
        side_process.hold("1", within=elsewhere)
    side_process.hold("2", within=str(folder))
    np.testing.assert_array_equal(side_process.result("2"), 2 * X)


@pytest.mark.parametrize(("side", "which"), [("candidate", min), ("base", max)])
def test_it_compiles_on_one_core_and_is_then_unpinned(start_side, side, which):
    side_process, cores = start_side(side=side), os.sched_getaffinity(0)
    side_process.hold("1")
    assert os.sched_getaffinity(side_process.process.pid) == {which(cores)}
    assert side_process.process.ask("release", 60) == {}
    assert os.sched_getaffinity(side_process.process.pid) == cores


@pytest.mark.torch
def test_gradients_are_recorded_only_for_cases_with_a_backward(start_side):
    side_process = start_side("torch")
    side_process.hold("f", "graded", "torch", "fwd")
    side_process.hold("b", "graded", "torch", "fwd_bwd")
    side_process.hold("n", "twice")
    for verb in ("check", "sample"):
        values = X if verb == "check" else X + 1
        forward, both = 3 * values, {"result": 2 * values, "gradients": {"x": np.full_like(X, 2)}}
        if verb == "sample":
            side_process.turn("b", "ready", sets=2, cotangents=True)
            side_process.turn("f", "ready", sets=2, cotangents=False)
            for key in "bfbnf":
                if key != "n":
                    side_process.turn(key, "sample", readings=2, inner=1, warm=False)
        for key in ("f", "b", "f", "b"):
            found = side_process.result(key, verb, "cotangent-double" if key == "b" else None)
            np.testing.assert_equal(found, both if key == "b" else forward)
