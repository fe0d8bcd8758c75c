import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from harness.core.case import Case
from harness.core.errors import Unsupported
from harness.core.protocol import Job
from harness.run.processes.executor import Ended
from harness.run.processes.worker_process import Processes

MARK = "SEQSWEEP_TEST_RUN"
TOPK = {"batch": 1, "rows": 4, "seq": 256, "topk": 8, "recall": 0.95, "distribution": "iid", "dtype": "f32"}
MEMORY = {"numpy": 256 << 20, "torch": 512 << 20, "jax": 1 << 30}


def processes_with(mark):
    """Ids of the live processes that have this mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue  # has just ended, or is a zombie
    return [pid for pid in found if pid != os.getpid()]


class RunProcesses:
    """Processes of a run, controlled like the runner controls them."""

    def __init__(self, mark=None):
        self.mark = mark or uuid.uuid4().hex
        os.environ[MARK] = self.mark
        self.executor = Processes(["numpy"], "cpu")
        del os.environ[MARK]

    def living(self):
        return processes_with(self.mark)

    def spawn(self, role, framework, implementation, module, folder, **changes):
        of = {"options": {}, "workload": TOPK, "mode": "fwd", **changes}
        case = Case.of(implementation, *(of.pop(name) for name in ("options", "workload", "mode")))
        job = Job(
            role=role,
            framework=framework,
            module=str(module),
            case=case,
            group="a group",
            folder=str(folder),
            seed=0,
            threads=1,
            **{"memory_bytes": MEMORY[framework], **of},
        )
        return self.executor.spawn(job, 4 << 30)


class Group:
    """One workload in one mode, with a reference and cases."""

    def __init__(self, processes, semantics, framework, implementation, module, **changes):
        self.processes, self.semantics, self.changes = processes, semantics, changes
        self.folder = processes.executor.folder / uuid.uuid4().hex
        self.folder.mkdir()
        self.backward = changes.get("mode", "fwd") != "fwd"
        self.reference = processes.spawn(
            "reference", framework, implementation, module, self.folder, **changes
        )
        try:
            self.reference.ask("inputs", 60, sets=3)
            self.reference.ask("reference", 60, semantics=semantics, sets=2)
        except Unsupported:
            self.reference.close()
            raise

    def spawn(self, framework, implementation, module, **more):
        return self.processes.spawn(
            "case", framework, implementation, module, self.folder, **self.changes, **more
        )

    def first_call(self, framework, implementation, module, seconds, trace_s):
        worker = self.spawn(framework, implementation, module)
        try:
            worker.ask("prepare", 60, trace_s=trace_s)
            return worker.ask("check", seconds, cotangent=None, result="result")
        finally:
            worker.close()

    def judge(self, result="result", inputs="set0"):
        return self.reference.ask("judge", 60, semantics=self.semantics, inputs=inputs, result=result)

    def evidence(self, worker, seconds=30.0):
        """(planned figures, verdict) of a case; raises Ended and Unsupported."""
        cotangent = f"cotangent-{self.semantics}" if self.backward else None
        prepared = worker.ask("prepare", 60, trace_s=1.0)
        worker.ask("check", seconds, cotangent=cotangent, result="result")
        verdict = self.judge()
        if verdict["changed"] and verdict["correctness"]["passed"]:
            verdict = {"correctness": {"passed": False}, "reason": verdict["changed"]}
        return prepared, verdict

    def fresh(self, worker, seconds=30.0):
        """(seconds of a call on new inputs and on repeated ones, verdict on its result)."""
        name = f"fresh{uuid.uuid4().hex}"
        self.reference.ask("fresh", 60, name=name, seed=7, semantics=self.semantics, write=True)
        cotangent = f"{name}-{self.semantics}" if self.backward else None
        fresh = {"inputs": name, "cotangent": cotangent, "result": "result"}
        turn = worker.ask("sample", seconds, readings=2, inner=1, warm=True, fresh=fresh)
        return turn["samples_s"], self.judge(inputs=name)

    def outcome(self, worker, seconds=30.0):
        """(status, reason) of a case."""
        try:
            _, verdict = self.evidence(worker, seconds)
            if not verdict["correctness"]["passed"]:
                return "incorrect", verdict["reason"]
            worker.ask("ready", seconds, sets=2, cotangents=self.backward)
            turn = worker.ask("sample", seconds, readings=3, inner=5, warm=True)
            assert all(0 < sample < turn["seconds"] for sample in turn["samples_s"])
            _, last = self.fresh(worker, seconds)
            if last["changed"]:
                return "incorrect", last["changed"]
            if not last["correctness"]["passed"]:
                return "incorrect", last["reason"]
        except Unsupported as refusal:
            return "unsupported", str(refusal)
        except Ended as end:
            return end.status, end.reason
        else:
            return "ok", ""
        finally:
            worker.close()

    def close(self):
        self.reference.close()


@pytest.fixture(scope="session")
def processes():
    made = RunProcesses()
    yield made
    made.executor.close()


@pytest.fixture
def own_processes():
    """Processes that only this test uses, and may destroy."""
    made = RunProcesses()
    yield made
    made.executor.close()


@pytest.fixture(scope="session")
def living():
    return processes_with


@pytest.fixture
def group_in():
    """Creates a top-k group."""
    made = []

    def make(processes):
        made.append(Group(processes, "exact", "numpy", "topk/exact", "impls.topk.family"))
        return made[-1]

    yield make
    for group in made:
        group.close()


@pytest.fixture(scope="session")
def topk(processes):
    group = Group(processes, "exact", "numpy", "topk/exact", "impls.topk.family")
    yield group
    group.close()


@pytest.fixture(scope="module")
def group_of(processes):
    """Creates groups that end with the test module."""
    made = []

    def make(*what, **changes):
        made.append(Group(processes, *what, **changes))
        return made[-1]

    yield make
    for group in made:
        group.close()


@pytest.fixture(scope="session")
def printed(pytestconfig):
    """Runs code in a fresh interpreter, and returns the printed lines."""

    def run(code, *arguments, **environment):
        path = os.pathsep.join(filter(None, [str(pytestconfig.rootpath), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run
