"""The whole of `execute`, with fakes where it would start processes or look at this machine."""

from functools import partial

import pytest

from harness.run import session
from harness.run.group import sampling
from harness.run.group.run_context import RunContext
from harness.run.machine import lock
from harness.run.session import STAGES_ONLY, Request
from tests.run import plans
from tests.run.fakes import Heard, Killed

FACTS = {"device": "cpu", "cpu": "EPYC", "threads": 1, "versions": {"jax": "0.10.2"}}


class SessionFixture:
    """Calls `execute` as the command line does; every call is a new process of the runner."""

    def __init__(self, home, monkeypatch, scratch="scratch"):
        self.home = self.locks = home
        self.results = home / "results"
        self.scratch = home / scratch
        self.scratch.mkdir(exist_ok=True)
        self.monkeypatch = monkeypatch
        self.heard = Heard()

    def __call__(
        self, executor, schedule=None, *, resume=False, depth="run", facts=FACTS, extras=STAGES_ONLY
    ):
        executor.folder = self.scratch

        def probe(device, _threads):
            own = facts(device) if callable(facts) else facts
            return {"fingerprint": dict(own), "environment": {"load": [0.0]}}

        def start(*_):
            return executor

        def lock_path(device):
            return self.locks / f"{device}.lock"

        self.monkeypatch.setattr(session, "Processes", start)
        self.monkeypatch.setattr(session, "RunContext", partial(RunContext, clock=executor.clock))
        self.monkeypatch.setattr(session, "probe_fingerprint", probe)
        self.monkeypatch.setattr(lock, "lock_path", lock_path)
        self.heard = Heard()
        asked = schedule or plans.schedule(), plans.catalog()
        command = ["seqsweep", "run"]
        request = Request(*asked, self.results, command, depth, resume, extras=extras)
        return session.execute(request, self.heard)

    def until_killed(self, executor, schedule=None):
        with pytest.raises(Killed):
            self(executor, schedule)

    def lines(self):
        """The lines of the only run's records, without those that define what they share."""
        (records,) = self.results.glob("runs/*/records.jsonl")
        return [line for line in records.read_bytes().splitlines() if not line.startswith(b'{"define":')]


class Undisturbed:
    """Isolate the scripted world from the load of the machine that runs the tests."""

    def __init__(self, *_):
        pass

    gpu_readings = ()

    def look(self):
        pass

    def warnings(self):
        return []

    def other_load(self):
        return None


@pytest.fixture(autouse=True)
def _undisturbed(monkeypatch):
    monkeypatch.setattr(sampling, "Interference", Undisturbed)


@pytest.fixture
def execute(tmp_path, monkeypatch):
    return SessionFixture(tmp_path, monkeypatch)
