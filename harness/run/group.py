"""One group: compile every case, judge it, then sample all of them in shuffled rounds."""

from __future__ import annotations

import math
import random
import shutil
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.catalog.catalog import Catalog
from harness.run.events import Listener
from harness.run.executor import Ended, Executor, Worker
from harness.run.member import Member, Stamp
from harness.run.predict import Prediction
from harness.run.stopping import Stopping
from harness.spec.case import Case
from harness.spec.errors import Unsupported
from harness.spec.protocol import Job
from harness.spec.record import Correctness, Record
from harness.spec.units import format_bytes, format_seconds
from harness.sweep.schedule import Group
from harness.sweep.settings import Settings

SETS = 2  # sets of inputs that samples rotate over
READING_SECONDS = 1e-3  # a reading is at least this long; shorter calls are repeated within it
TRACE_SECONDS = 10.0  # a trace over fake tensors that takes longer is abandoned
LONG_CALL_SECONDS = 0.25  # such a call needs no untimed one before it to warm caches
DEPTHS = ("static", "check", "run")

Clock = Callable[[], float]


@dataclass
class Context:
    """What all groups of a run share. `depth` says how far each case goes (DEPTHS)."""

    executor: Executor
    catalog: Catalog
    stamp: Stamp
    listener: Listener
    folder: Path
    depth: str = "run"
    clock: Clock = time.monotonic
    prediction: Prediction = field(default_factory=Prediction)
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    startups_s: list[float] = field(default_factory=list)


class Interrupted(Exception):  # noqa: N818 - Ctrl-C with something to keep
    """The run was stopped while a group was being sampled; its records are worth keeping."""

    def __init__(self, records: list[Record]) -> None:
        super().__init__("interrupted")
        self.records = records


class GroupRun:
    """Measures one group once. `run()` returns its records, in the group's order."""

    def __init__(self, group: Group, context: Context, replicate: int = 0) -> None:
        self.group, self.context, self.replicate = group, context, replicate
        self.settings: Settings = group.settings
        self.folder = context.folder / f"group-{zlib.crc32(group.key.encode()):08x}-{replicate}"
        self.desk: Worker | None = None
        self.members = [
            Member(
                case=case,
                info=context.catalog.implementation(case.implementation),
                baseline=case.id in group.baselines.get(case.id, ()),
                started=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            )
            for case in group.cases
        ]

    def run(self) -> list[Record]:
        try:
            for member in self.members:
                self._prepare(member)
            if self.context.depth != "static":
                self._judge_and_sample()
            for member in self._living():
                member.settle("ok")
        except KeyboardInterrupt:
            if not any(member.samples for member in self.members):
                raise
            self._cut_short()
            raise Interrupted(self._records()) from None
        finally:
            self._close()
        return self._records()

    def _living(self) -> list[Member]:
        return [member for member in self.members if member.living]

    def _records(self) -> list[Record]:
        device = self.group.cases[0].device
        target = "host" if device == "cpu" else device
        stamp = replace(self.context.stamp, seed=self.settings.seed)
        return [member.record(stamp, target, self.replicate) for member in self.members]

    def _cut_short(self) -> None:
        for member in self._living():
            if member.samples:
                member.stopped = "interrupted"
                member.settle("ok")
            else:
                member.settle("skipped", "the run was interrupted before its first sample; --resume runs it")

    def _close(self) -> None:
        for member in self.members:
            if member.worker is not None:
                member.worker.close()
                member.worker = None
        if self.desk is not None:
            self.desk.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _job(self, role: str, framework: str, member: Member) -> Job:
        case: Case = member.case
        return Job(
            role=role,
            framework=framework,
            implementation=case.implementation,
            module=member.info.module,
            options=dict(case.options),
            workload=dict(case.workload),
            mode=case.mode,
            device=case.device,
            group=self.group.key,
            folder=str(self.folder),
            seed=self.settings.seed,
            threads=self.settings.threads,
            memory_bytes=self.settings.memory_bytes,
        )

    def _ask(self, member: Member, activity: str, verb: str, **arguments: Any) -> Mapping[str, Any] | None:
        """Ask a member; None when that settled it. The time counts as `activity`."""
        if member.worker is None:
            return None
        start = self.context.clock()
        try:
            return member.worker.ask(verb, self.settings.timeout_s, **arguments)
        except Unsupported as refusal:
            member.settle("unsupported", str(refusal))
        except Ended as end:
            member.settle(end.status, end.reason)
            if end.status in {"oom", "timeout"}:
                self.context.prediction.stop(member.case, end.status)
        finally:
            seconds = self.context.clock() - start
            member.wall_s += seconds
            self.context.spent[activity] += seconds
        return None

    def _prepare(self, member: Member) -> None:
        """Start the process and compile; decide from the figures whether the case may run."""
        self.context.listener.case_state(member.id, "compile")
        start = self.context.clock()
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            job = self._job("case", member.info.framework, member)
            member.worker = self.context.executor.spawn(job, self.settings.memory_bytes)
        except Unsupported as refusal:
            member.settle("unsupported", str(refusal))
            return
        except Ended as end:
            member.settle(end.status, end.reason)
            return
        finally:
            fork_s = self.context.clock() - start
            self.context.spent["startup"] += fork_s
        trace_s = min(TRACE_SECONDS, self.settings.timeout_s / 4)
        answer = self._ask(member, "compile", "prepare", trace_s=trace_s)
        if answer is None:
            return
        self.context.spent["compile"] -= answer["startup_s"]
        self.context.spent["startup"] += answer["startup_s"]
        self.context.startups_s.append(fork_s + answer["startup_s"])
        member.take_prepared(answer, self.settings.memory_bytes)
        if member.static.fits is False:
            member.settle("oom", self._plan_too_large(member))
        elif self.context.depth == "run":
            skip = self.context.prediction.inferred(member.case)
            skip = skip or self.context.prediction.over_budget(member.case, self.settings.budget_s)
            if skip:
                member.settle("skipped", skip)

    def _plan_too_large(self, member: Member) -> str:
        planner = "compiler" if member.info.framework == "jax" else "trace over fake tensors"
        return (
            f"the {planner} plans {format_bytes(member.static.planned_bytes or 0)}; "
            f"the limit is {format_bytes(self.settings.memory_bytes)}: raise --memory or shorten the sequence"
        )

    def _judge_and_sample(self) -> None:
        if not self._living() or not self._set_desk():
            return
        together = self._living()
        planned = sum(member.needs_bytes(SETS) for member in together)
        if self.context.depth == "check" or planned <= self.settings.memory_bytes:
            for member in together:
                self._check(member)
            self._sample([member for member in together if member.living])
            return
        for member in together:
            member.warnings.append(
                f"measured alone: the group together plans {format_bytes(planned)}, "
                f"the limit is {format_bytes(self.settings.memory_bytes)}"
            )
            self._check(member)
            self._sample([member] if member.living else [])
            if member.living:
                member.settle("ok")

    def _set_desk(self) -> bool:
        """Inputs, and the reference of every semantics in the group."""
        first = self._living()[0]
        self.context.listener.case_state(first.id, "inputs and reference")
        family = self.context.catalog.family(first.case.family)
        start = self.context.clock()
        try:
            self.desk = self.context.executor.spawn(
                self._job("desk", family.desk, first), self.settings.memory_bytes
            )
            self.desk.ask("inputs", self.settings.timeout_s, sets=SETS)
        except (Unsupported, Ended) as end:
            self._fail(self._living(), f"the inputs of family {family.name}", end)
        for semantics in dict.fromkeys(member.info.semantics for member in self._living()):
            try:
                self.desk.ask("reference", self.settings.timeout_s, semantics=semantics, sets=SETS)
            except (Unsupported, Ended) as end:
                concerned = [member for member in self._living() if member.info.semantics == semantics]
                self._fail(concerned, f"the reference {semantics} of family {family.name}", end)
                if isinstance(end, Ended) and end.status != "crashed":
                    self._fail(self._living(), f"the reference {semantics}", end)
        self.context.spent["contract"] += self.context.clock() - start
        return bool(self._living())

    def _fail(self, members: Sequence[Member], what: str, end: Unsupported | Ended) -> None:
        for member in members:
            if isinstance(end, Unsupported):
                member.settle("unsupported", str(end))
            else:
                member.settle("crashed", f"{what} cannot be computed: {end.reason}")

    def _cotangent(self, member: Member) -> str | None:
        return None if member.case.mode == "fwd" else f"cotangent-{member.info.semantics}"

    def _check(self, member: Member) -> None:
        """Call it once and hold the answer to its contract; only then may it be timed."""
        self.context.listener.case_state(member.id, "contract")
        answer = self._ask(member, "contract", "check", cotangent=self._cotangent(member))
        if answer is None:
            return
        member.call_s, member.high_water_bytes = answer["seconds"], answer["high_water_bytes"]
        reason = self._judge(member, answer["result"])
        if answer["changed"] and member.correctness:
            reason = f'it changes its input "{answer["changed"]}", which the next call gets'
            member.correctness = _failed(member.correctness)
        if reason is None:
            return
        if reason:
            why = f"{reason}; expected: {member.expectation}" if member.expected else reason
            member.settle("incorrect", why)
        elif member.expected:
            member.settle("ok", f"expected to be incorrect ({member.expectation}), but its contract passed")
        else:
            self.context.prediction.note(member.case, member.call_s)

    def _judge(self, member: Member, result: str) -> str | None:
        """The reason why a result fails its contract, "" when it passes, None when it has no verdict."""
        start = self.context.clock()
        try:
            if self.desk is None:
                return None
            answer = self.desk.ask(
                "judge", self.settings.timeout_s, semantics=member.info.semantics, result=result
            )
        except (Unsupported, Ended) as end:
            member.correctness = None
            self._fail([member], "its result", end)
            return None
        finally:
            self.context.spent["contract"] += self.context.clock() - start
        member.correctness = Correctness(**answer["correctness"])
        return "" if member.correctness.passed else answer["reason"] or "its contract failed"

    def _sample(self, members: list[Member]) -> None:
        if self.context.depth != "run" or not members:
            return
        backward = members[0].case.mode != "fwd"
        for member in members:
            member.inner = max(1, math.ceil(READING_SECONDS / max(member.call_s, 1e-7)))
            answer = self._ask(member, "samples", "ready", sets=SETS, cotangents=backward)
            if answer:
                member.method, member.cache = answer["method"], answer["cache"]
        baselines = {case: list(ids) for case, ids in self.group.baselines.items()}
        stopping = Stopping(baselines, self.settings.precision, self.settings.budget_s)
        self._rounds(stopping, members)
        for member in members:
            member.stopped = stopping.stopped(member.id)
            self._recheck(member)

    def _rounds(self, stopping: Stopping, members: list[Member]) -> None:
        shuffle = random.Random(f"{self.settings.seed} {self.group.key} {self.replicate}")
        by_id = {member.id: member for member in members}
        round_ = 0
        while turns := stopping.active([member.id for member in members if member.living]):
            shuffle.shuffle(turns)
            for case in turns:
                self._turn(stopping, by_id[case], round_)
            round_ += 1

    def _turn(self, stopping: Stopping, member: Member, round_: int) -> None:
        long = member.call_s > LONG_CALL_SECONDS
        readings = 1 if member.call_s * member.inner > 0.02 else 3
        self.context.listener.case_state(member.id, f"round {round_ + 1}")
        self.context.listener.pause()
        answer = self._ask(member, "turns", "sample", readings=readings, inner=member.inner, warm=not long)
        self.context.listener.resume()
        if answer is None:
            member.samples.clear()
            return
        self.context.spent["turns"] -= answer["seconds"]
        self.context.spent["samples"] += answer["seconds"]
        member.samples += answer["samples_s"]
        member.rounds += [round_] * len(answer["samples_s"])
        stopping.feed(member.id, round_, answer["samples_s"], answer["seconds"])

    def _recheck(self, member: Member) -> None:
        """Judge a last call, on storage that held other values before; name what still runs."""
        self.context.listener.case_state(member.id, "check again")
        answer = self._ask(member, "contract", "recheck", cotangent=self._cotangent(member))
        if answer is None:
            return
        reason = self._judge(member, answer["result"])
        if reason:
            text = "its answer depends on earlier calls: it passed before the clock and failed after"
            member.settle("incorrect", f"{text} ({reason})")
            return
        finish = self._ask(member, "samples", "finish")
        for name in (finish or {}).get("threads", ()):
            member.warnings.append(f'it left the thread "{name}" running; end it before returning')
        if member.living:
            median = format_seconds(sorted(member.samples)[len(member.samples) // 2])
            self.context.listener.case_state(member.id, f"ok {median}")


def _failed(correctness: Correctness) -> Correctness:
    return Correctness(correctness.contract, False, correctness.coverage, correctness.figures)
