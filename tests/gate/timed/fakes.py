"""Scripted fakes for gates: both sides' processes, and a clock that moves only when the test moves it."""

from dataclasses import replace
from threading import Lock

from harness.core.protocol import Job
from harness.core.static_figures import Static
from harness.gate.sides.side import Side
from harness.gate.timed.decision import Margin
from harness.gate.timed.loop import GateLoop
from harness.gate.timed.pair import Pair
from harness.gate.timed.paired_case import BASE, CANDIDATE, PROVENANCE, GateContext, PairedCase, open_group
from harness.gate.timed.processes import GateExecutor, SideProcess
from harness.gate.timed.sequential_test import SequentialTest
from harness.run.case.case_state import CaseState
from harness.run.group.run_context import RunContext
from harness.run.processes.executor import Ended
from tests.run.fakes import Act, FakeExecutor, FakeWorker, static
from tests.run.plans import SETTINGS, case, catalog, group


class Quiet:
    """A listener that ignores all events, because both sides compile concurrently."""

    def __getattr__(self, name):
        return lambda *_: None


class FakeProcess:
    """The process of a side. Names in `world.asked` are `side:implementation`."""

    def __init__(self, world, side):
        self.world, self.side = world, side.name
        self.held, self.living = {}, True
        world.processes.append(self)

    def kill(self):
        self.living = False

    def ask(self, verb, seconds, *, case="", asks="", job=None, **arguments):
        with self.world.turn:  # both sides are asked from threads of their own
            assert self in self.world.processes, "asked after its end"
            if not self.living:
                raise Ended("crashed", "its process has been ended")
            self.world.process_verbs.append((self.side, verb))
            if scripted := self.world.process_acts.get((self.side, verb)):
                raise scripted
            if verb == "hold":
                self.held[case] = self.world.worker(self.side, Job.from_json(job))
            elif verb == "drop":
                self.held.pop(case).close()
            elif verb == "turn":
                return self._turn(self.held[case], asks, seconds, arguments)
            return {}

    def _turn(self, worker, verb, seconds, arguments):
        try:
            return worker.ask(verb, seconds, **arguments)
        except Ended as end:
            self.living = end.alive
            raise

    def close(self):
        if self in self.world.processes:
            self.world.processes.remove(self)
        while self.held:
            self.held.popitem()[1].close()


class World:
    """`candidate` and `base` are Acts by implementation name; `wrong` are results as `side:name/1`.

    `process_acts` are exceptions by (side, verb of its process), `opening` one raised at a start.
    """

    def __init__(
        self,
        folder,
        candidate=None,
        base=None,
        *,
        names=("scatter",),
        seqs=(1024,),
        settings=SETTINGS,
        wrong=(),
    ):
        self.acts = {CANDIDATE: candidate or {}, BASE: base or {}}
        self.executor = FakeExecutor(wrong=wrong)
        self.clock, self.asked = self.executor.clock, self.executor.asked
        self.turn = Lock()
        self.processes, self.process_verbs, self.process_acts, self.opened, self.opening = [], [], {}, [], {}
        executor = GateExecutor(self.executor)
        run = RunContext(executor, catalog(), PROVENANCE, Quiet(), folder, clock=self.clock)
        sides = {name: Side(name, says, catalog()) for name, says in ((CANDIDATE, "mine"), (BASE, "git:1a2"))}
        self.paired_cases = []
        for seq in seqs:
            one = group(names, seq, settings=settings)
            context, both_sides = open_group(one, {case: case for case in one.cases}, sides, run)
            self.paired_cases += [PairedCase(pair, context) for pair in both_sides]
        executor.open = self.open
        self.shared = GateContext(run, executor, sides, settings)
        self.sequential_test = SequentialTest({paired.id: Margin() for paired in self.paired_cases})
        self.played = None

    def open(self, side, frameworks, settings, padding, *, tracing):
        self.opened.append(side.name)
        if scripted := self.opening.get(side.name):
            raise scripted
        process = FakeProcess(self, side)
        return SideProcess(side, lambda: process, process.close)

    def worker(self, side, job):
        name = job.case.implementation.split("/")[1]
        act = self.acts[side].get(name, Act())
        made = FakeWorker(self.executor, job, act.seq.get(job.case.seq, act))
        made.name = f"{side}:{name}"
        return made

    def pair(self, number=1):
        """(results, waiting cases) of one pair with every case."""
        return Pair(self.shared, number, lambda paired_cases: paired_cases).run(self.paired_cases)

    def results(self, number=1):
        """Results of one pair, by implementation."""
        return {found.case.split("/")[1].split("@")[0]: found for found in self.pair(number)[0]}

    def end(self):
        """(verdict, reason) of the first case, which one pair must decide without timing."""
        assert self.results() == {}
        return self.paired().verdict, self.paired().reason

    def loop(self, budget_s=1e6, **more):
        """Run the loop to its end."""
        self.played = GateLoop(self.shared, self.paired_cases, self.sequential_test, budget_s, **more)
        self.played.run()
        return self.played

    @property
    def lines(self):
        """(pair, case) of all results."""
        return [(found.pair, found.case) for found in self.played.results]

    def paired(self, name="scatter", seq=1024):
        paired = (one for one in self.paired_cases if one.candidate.case.seq == seq)
        return next(one for one in paired if one.id.startswith(f"mask/{name}@"))

    def verbs(self, side, name="scatter"):
        return self.executor.verbs(f"{side}:{name}")

    def ordinary_turns(self, side, name="scatter"):
        """Requests to a side in turns that are not verified."""
        return [asked for who, asked in self.executor.ordinary_turns() if who == f"{side}:{name}"]

    def pairs_of(self, name):
        return [number for number, case in self.lines if case.startswith(f"mask/{name}@")]


def program(name):
    """Reply for an Act's `prepare`, with this hash of the compiled program."""
    return {"static": {**static(Act()), "program": name}}


def pair_of(name="scatter", program=None):
    """A case on both sides, where only its program is known."""
    sides = {}
    for side in (CANDIDATE, BASE):
        sides[side] = CaseState(case(name), catalog().implementation(f"mask/{name}"), side=side)
        static = replace(Static.none("not counted"), program=program)
        sides[side].plan = replace(sides[side].plan, static=static)
    return PairedCase(sides, None)
