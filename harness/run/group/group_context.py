"""The shared state of a group while it runs: its cases, their workers, and requests to them."""

import shutil
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.core.errors import MachineError, Unsupported
from harness.core.protocol import Job
from harness.core.record import PLANNED, Correctness
from harness.core.units import format_count, format_seconds
from harness.run.case.case_state import CaseState
from harness.run.group.run_context import RunContext
from harness.run.machine.device_memory import DeviceMemory
from harness.run.processes.executor import Ended, Worker
from harness.sweep.schedule import Group

SETS = 2  # sets of inputs; samples rotate over them
CORRUPTED = "something in the worker process corrupts replies; check for monkey-patching"


class GroupContext:
    """The state that the stages of a group share. Its folder has the group's arrays until its end.

    `states` has one entry per case of the group; a gate passes the cases of both sides instead.
    """

    def __init__(
        self, group: Group, run: RunContext, replicate: int = 0, states: Sequence[CaseState] = ()
    ) -> None:
        self.group, self.run, self.replicate = group, run, replicate
        self.settings = group.settings
        self.device_memory = run.device_memory.get(group.cases[0].device, DeviceMemory())
        self.folder = run.folder / f"group-{zlib.crc32(group.key.encode()):08x}-{replicate}"
        self.states = list(states) or [
            CaseState(
                case=case,
                info=run.catalog.implementation(case.implementation),
                baseline=case.id in group.baselines.get(case.id, ()),
            )
            for case in group.cases
        ]

    def unsettled(self) -> list[CaseState]:
        """The cases that are not settled yet."""
        return [state for state in self.states if state.unsettled]

    @property
    def memory_limit(self) -> int:
        """The bytes that the group's cases may take together on their device."""
        return self.device_memory.limit(self.settings.memory_bytes)

    def needs_bytes(self, state: CaseState, sets: int) -> int:
        """Memory that a case's process takes on its device with `sets` sets of inputs."""
        return state.plan.needs_bytes(sets) + self.device_memory.process_bytes

    def needs_together(self, states: Sequence[CaseState]) -> int:
        """Memory that the processes of cases take together, with the context of their reference worker."""
        cases = sum(self.needs_bytes(state, SETS) for state in states)
        return cases + self.device_memory.process_bytes

    def sets_of(self, state: CaseState) -> int:
        """The number of input sets that a case's samples rotate over: one if a second does not fit."""
        return SETS if self.needs_bytes(state, SETS) <= self.memory_limit else 1

    def inputs_of(self, state: CaseState) -> str:
        """The key of a case's inputs: cases with equal keys get the same inputs."""
        return self.group.inputs_of(state.case)

    def folder_of(self, inputs: str) -> Path:
        """The folder of the inputs with this key, and of the results computed from them."""
        several = self.group.several_inputs
        return self.folder / f"{zlib.crc32(inputs.encode()):08x}" if several else self.folder

    def spawn(self, role: str, framework: str, state: CaseState, module: str = "") -> Worker:
        """Start a worker for a case, or for the references in `module`. Its crash affects no other worker."""
        try:
            self.folder_of(self.inputs_of(state)).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MachineError(
                f"{self.folder}: cannot be created ({error.strerror}); free space there, or set TMPDIR"
            ) from None
        job = self.job(role, framework, state, module)
        return self.run.executor.spawn(job, self.settings.memory_bytes)

    def job(self, role: str, framework: str, state: CaseState, module: str = "") -> Job:
        """The job of a worker process for a case."""
        inputs = self.inputs_of(state)
        return Job(
            role=role,
            framework=framework,
            module=module or state.info.module,
            case=state.case,
            group=inputs,
            folder=str(self.folder_of(inputs)),
            seed=self.settings.seed,
            threads=self.settings.threads,
            memory_bytes=self.settings.memory_bytes,
            side=state.side,
            within=state.within if role == "case" else None,
        )

    @contextmanager
    def count_time(self, activity: str) -> Generator[None]:
        """Count the time of a block as `activity`."""
        start = self.run.clock()
        try:
            yield
        finally:
            self.run.count_seconds(activity, self.run.clock() - start)

    def reattribute(self, seconds: float, counted_as: str, activity: str) -> None:
        """Move some of the time counted as one activity to another."""
        self.run.count_seconds(counted_as, -seconds)
        self.run.count_seconds(activity, seconds)

    def ask(self, state: CaseState, activity: str, verb: str, **arguments: Any) -> Mapping[str, Any] | None:
        """The reply of a case's worker; None if that settled the case. The time counts as `activity`."""
        if state.worker is None:
            return None
        try:
            answer = self.ask_or_raise(state, activity, verb, **arguments)
            if verb == "sample" and len(answer["samples_s"]) != arguments["readings"]:
                text = f"it replied with {len(answer['samples_s'])} samples, not {arguments['readings']}"
                raise Ended("crashed", f"{text}; {CORRUPTED}")
        except Unsupported as refusal:
            self.settle_ended(state, refusal)
        except Ended as ended:
            end = self._explain_death(state, ended)
            if state.is_interpreted and end.status == "timeout":
                self.run.interpreted_below[state.case.series] = state.case.seq
                self.settle(state, PLANNED, self.why_not_interpreted(state))
                return None
            self.settle_ended(state, end)
            if end.status in {"oom", "timeout"} and state.side != "base":  # a base predicts no candidate
                self.run.predictor.record_failure(state.case, end.status, compiling=verb == "prepare")
        else:
            return answer
        return None

    def ask_or_raise(self, state: CaseState, activity: str, verb: str, **arguments: Any) -> Mapping[str, Any]:
        """Like :meth:`ask`, but raise Ended and Unsupported instead of settling the case."""
        if state.worker is None:
            raise Ended("crashed", "its process has ended")
        start = self.run.clock()
        try:
            with self._silence(verb), self.count_time(activity):
                return state.worker.ask(verb, self.settings.timeout_s, **arguments)
        except Ended as end:
            if not end.alive:
                state.end()
            raise
        finally:
            state.wall_s += self.run.clock() - start

    @contextmanager
    def _silence(self, verb: str) -> Generator[None]:
        """Pause the listener while a clock may be read; no clock is read while cases compile."""
        if verb == "prepare":
            yield
            return
        self.run.listener.pause()
        try:
            yield
        finally:
            self.run.listener.resume()

    def why_not_interpreted(self, state: CaseState) -> str | None:
        """Why a case is not run in the interpreter, if it timed out at this or a shorter length."""
        limit = self.run.interpreted_below.get(state.case.series)
        if limit is None or limit > state.case.seq:
            return None
        limit_s = format_seconds(self.settings.timeout_s)
        took = f"the interpreter takes more than {limit_s} at {format_count(limit)} tokens"
        return f"not checked, because {took}; use a shorter length, or raise --timeout"

    def check_cores(self, state: CaseState) -> None:
        """Settle a case if its process has widened its CPU affinity beyond `--threads`."""
        if state.worker is None or not state.unsettled:
            return
        taken, given = state.worker.count_cores(), self.settings.threads
        # XLA may bind the threads that feed a GPU to all cores near it; the time is still the GPU's.
        if taken is not None and taken > given and state.case.device == "cpu":
            text = f"it may use {taken} cores, but --threads is {given}"
            remedy = "do not set CPU affinity, or raise --threads"
            self.settle_broken_rule(state, "uses only its cores", f"{text}; {remedy}")

    def _explain_death(self, state: CaseState, end: Ended) -> Ended:
        """The end of a request, with an oom instead of a crash if the process was near the memory limit."""
        if end.status != "crashed" or not end.died_of:
            return end
        why = state.plan.why_died(end.died_of, self.memory_limit, state.setup.sets)
        return end if why is None else Ended("oom", why, output=end.output, died_of=end.died_of)

    def settle(self, state: CaseState, status: str, reason: str | None = None, remedy: str = "") -> None:
        """Settle a case, unless it is settled, and end its process."""
        state.settle(status, reason, remedy)
        self.run.listener.case_state(state.id, status)

    def settle_broken_rule(self, state: CaseState, rule: str, reason: str) -> None:
        """Settle a case that broke a rule of measuring as incorrect, although its results may be right."""
        state.correctness = Correctness(rule, passed=False, coverage="whole")
        self.settle(state, "incorrect", reason)

    def settle_ended(self, state: CaseState, end: Unsupported | Ended, reason: str | None = None) -> None:
        """Settle a case by the end of a request; the output of a crash is stored in the run's folder."""
        if isinstance(end, Unsupported):
            self.settle(state, "unsupported", str(end))
            return
        if end.status == "crashed" and end.output and self.run.keep_crash and state.unsettled:
            text = f"{state.id}\n{end.reason}\n\n{end.output}"
            state.crash_file = self.run.keep_crash(state.case, self.replicate, text)
        self.settle(state, end.status, reason or end.reason, end.remedy)

    def close(self) -> None:
        for state in self.states:
            state.end()
        shutil.rmtree(self.folder, ignore_errors=True)
