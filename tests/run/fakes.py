"""A scripted world for the runner: no process, no framework, and a manual clock."""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.core.protocol import Job, read_reply
from harness.core.record import Cost, OperatorFigures, Record
from harness.core.static_figures import Static
from harness.run.processes.executor import Ended

MIB = 2**20


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.tick = 0.0

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


class Killed(BaseException):
    """Simulates a SIGKILL of the whole run: nothing in the runner may catch it."""


@dataclass
class Act:
    """How one implementation behaves.

    A verb's entry is an exception to raise, changes to its answer, or another answer, which is no dict.
    """

    seconds: float | Callable[[int], float] = 1e-3
    planned: int | None = MIB
    input_bytes: int = 1024
    flops: float | None = None
    formula: float | None = None
    expected: str | None = None
    verbs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seq: Mapping[int, "Act"] = field(default_factory=dict[int, "Act"])
    noise: tuple[float, ...] = (1.0,)
    spawn: BaseException | None = None
    cores: int = 1

    def call_s(self, seq: int) -> float:
        return self.seconds(seq) if callable(self.seconds) else self.seconds


def at(number: int, exception: BaseException) -> Callable[[Any], Any]:
    """For an Act's verb: raise at that ask of it, counted from 1."""
    count = itertools.count(1)
    return lambda _: exception if next(count) == number else {}


def acting(verb: str, outcome: Any) -> Act:
    """An act with this outcome for a verb; `judged` are the timed calls that are verified."""
    if verb == "spawn":
        return Act(spawn=outcome)
    if verb != "judged":
        return Act(verbs={verb: outcome})
    return Act(verbs={"sample": lambda arguments: outcome if "fresh" in arguments else {}})


def static(act: Act) -> dict[str, Any]:
    figures: dict[str, Any] = dict.fromkeys(("alias_bytes", "peak_bytes", "bytes_accessed"), 0)
    missing = {} if act.flops else {"flops": "not counted"}
    if act.planned is None:
        missing |= dict.fromkeys(("argument_bytes", "output_bytes", "temp_bytes"), "no compiler")
    else:
        figures |= {"argument_bytes": 0, "output_bytes": 0, "temp_bytes": act.planned}
    source = "compiled" if act.flops else None
    return asdict(Static(**figures, flops=act.flops, flops_source=source, unavailable=missing))


def is_audit(arguments: Mapping[str, Any]) -> bool:
    """Whether a turn's question is the audit of a short call's clock."""
    return arguments["readings"] == 1 and not arguments["warm"] and arguments["inner"] > 1


class FakeWorker:
    def __init__(self, executor: "FakeExecutor", job: Job, act: Act) -> None:
        self.executor, self.job, self.act = executor, job, act
        self.name = "reference" if job.role == "reference" else job.case.implementation.split("/")[1]
        self.turn = 0
        executor.living.append(self)

    def ask(self, verb: str, seconds: float, **arguments: Any) -> Mapping[str, Any]:
        assert self in self.executor.living, "asked after its end"
        self.executor.count(self.name, self.job.case.seq, verb, arguments)
        scripted: Any = self.act.verbs.get(verb, {})
        if callable(scripted):
            scripted = scripted(arguments)
        if isinstance(scripted, BaseException):
            if isinstance(scripted, Ended) and not scripted.alive:
                self.close()
            raise scripted
        regular = getattr(self, verb)(**arguments)
        answer = {**regular, **scripted} if isinstance(scripted, dict) else scripted
        try:
            return read_reply(verb, {"ok": answer}).ok
        except ValueError as error:
            if self.job.role != "reference":
                self.close()
            raise Ended("crashed", str(error), alive=self in self.executor.living) from None

    def close(self) -> None:
        if self in self.executor.living:
            self.executor.living.remove(self)

    def kill(self) -> None:
        self.close()
        self.executor.killed()

    def count_cores(self) -> int:
        return self.act.cores

    def spend(self, seconds: float) -> float:
        self.executor.clock.now += seconds
        return seconds

    def call(self) -> float:
        return self.act.call_s(self.job.case.seq) * self.act.noise[self.turn % len(self.act.noise)]

    def prepare(self, trace_s: float) -> dict[str, Any]:
        self.spend(0.5)
        return {
            "static": static(self.act),
            "cost": asdict(Cost(flops=self.act.formula)),
            "expected": self.act.expected is not None,
            "expectation": self.act.expected,
            "facts": {},
            "input_bytes": self.act.input_bytes,
            "startup_s": 0.1,
        }

    def check(self, cotangent: str | None, result: str) -> dict[str, Any]:
        self.executor.results[result] = f"{self.name}/1"
        seconds = self.spend(self.act.call_s(self.job.case.seq))
        return {"seconds": seconds, "warmup_s": seconds, "high_water_bytes": 4096, "recompiled": 0}

    def examine(self, only: list[str] | None, cotangent: str | None) -> dict[str, Any]:
        return {"checks": []}

    def ready(self, sets: int, cotangents: bool, graphs: bool = False) -> dict[str, Any]:
        if graphs:
            return {"method": "cuda_graph", "cache": "flushed", "reason": ""}
        return {"method": "wall", "cache": "rotated", "reason": ""}

    def sample(
        self, readings: int, inner: int, warm: bool, fresh: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        if fresh is not None:
            self.executor.results[fresh["result"]] = f"{self.name}/2"
        samples: list[float] = []
        for _ in range(readings):
            self.turn += fresh is None  # a judged call moves no script of noise
            samples.append(self.call())
        seconds = self.spend(sum(samples) * inner)
        return {"samples_s": samples, "seconds": seconds, "compiled": 0, "queued": None, "latency_s": None}

    def profile(self) -> dict[str, Any]:
        call_s = self.call()
        self.spend(3 * call_s)
        return {"plain_s": call_s, "stages": {"": (0.25 * call_s, 1, 0.0), "work": (0.75 * call_s, 2, 0.0)}}

    def count_stages(self) -> dict[str, Any]:
        return {"counts": {"": (1, 0, 8), "work": (2, 100, 64)}}

    def trace_operators(self, trace: str | None) -> dict[str, Any]:
        if trace is not None:
            (Path(self.job.folder) / trace).write_text(self.name)
        return {"operators": [asdict(OperatorFigures("mm", "work", 1e-3, 2, 64))], "refused": ""}

    def kernels(self) -> dict[str, Any]:
        return {"kernels": [["fill", 1], ["scatter", 2]], "refused": ""}

    def inputs(self, sets: int, write: bool) -> dict[str, Any]:
        return {}

    def reference(self, semantics: str, sets: int) -> dict[str, Any]:
        return {}

    def fresh(self, name: str, seed: int, semantics: str, write: bool) -> dict[str, Any]:
        return {}

    def judge(self, semantics: str, inputs: str, result: str) -> dict[str, Any]:
        wrong = self.executor.results[result] in self.executor.wrong
        correctness = {"contract": "exact", "passed": not wrong, "coverage": "whole", "figures": {}}
        return {"correctness": correctness, "reason": "3 elements differ" if wrong else "", "changed": None}


class FakeExecutor:
    """`acts` by implementation name; `wrong` are the results (`name/1`, under the clock `name/2`) that fail.

    `stop` is raised at the ask of that number, counted from 1 over the whole run.
    """

    def __init__(
        self,
        acts: Mapping[str, Act] | None = None,
        reference: Act | None = None,
        wrong: Collection[str] = (),
        stop: tuple[int, BaseException] | None = None,
    ) -> None:
        self.acts, self.reference, self.wrong, self.stop = acts or {}, reference or Act(), wrong, stop
        self.clock = Clock()
        self.jobs: list[tuple[Job, int]] = []
        self.living: list[FakeWorker] = []
        self.closed = False
        self.killed: Callable[[], None] = lambda: None
        self.asked: list[tuple[str, int, str, dict[str, Any]]] = []
        self.results: dict[str, str] = {}  # what was handed over, by the name that the runner gave
        self.folder = Path()

    def spawn(self, job: Job, limit_bytes: int) -> FakeWorker:
        name = job.case.implementation.split("/")[1]
        act = self.reference if job.role == "reference" else self.acts.get(name, Act())
        act = act.seq.get(job.case.seq, act)
        self.clock.now += 0.02
        self.jobs.append((job, limit_bytes))
        if act.spawn is not None:
            raise act.spawn
        return FakeWorker(self, job, act)

    def count(self, name: str, seq: int, verb: str, arguments: dict[str, Any]) -> None:
        self.asked.append((name, seq, verb, arguments))
        if self.stop and len(self.asked) == self.stop[0]:
            raise self.stop[1]

    def close(self) -> None:
        assert not self.closed
        self.closed = True
        self.living.clear()

    def verbs(self, name: str) -> list[str]:
        return [verb for who, _, verb, _ in self.asked if who == name]

    def turns(self) -> list[str]:
        """Who was sampled, in order."""
        return [who for who, _ in self.ordinary_turns()]

    def ordinary_turns(self) -> list[tuple[str, dict[str, Any]]]:
        """(worker, request) of all turns without verified calls and audits of the clock."""
        return [
            (who, arguments)
            for who, _, verb, arguments in self.asked
            if verb == "sample" and "fresh" not in arguments and not is_audit(arguments)
        ]

    def judged(self, result: str) -> int:
        """The number of results that were checked against a contract."""
        asked = [arguments["result"] for *_, verb, arguments in self.asked if verb == "judge"]
        return [self.results[name] for name in asked].count(result)


class Heard:
    """A listener that remembers, and objects to being drawn to while a clock is read."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.paused = False

    def _note(self, *event: Any) -> None:
        assert not self.paused, f"{event} while a clock is read"
        self.events.append(event)

    def group_started(self, index: int, key: str, cases: Sequence[str], remaining_s: float | None) -> None:
        self._note("started", index, key, remaining_s)

    def case_state(self, case: str, state: str) -> None:
        self._note("state", case, state)

    def pause(self) -> None:
        self._note("pause")
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        self.events.append(("resume",))

    def group_finished(self, records: Sequence[Record], remaining_s: float | None) -> None:
        self._note("finished", len(records), remaining_s)

    def message(self, text: str) -> None:
        self._note("message", text)

    def close(self) -> None:
        self._note("close")

    def messages(self) -> list[str]:
        return [event[1] for event in self.events if event[0] == "message"]
