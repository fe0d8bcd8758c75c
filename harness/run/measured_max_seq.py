"""The largest length that runs (`run --max-seq`): each try runs in a new process, and may run out of memory.

The search is that of `static --max-seq`: doubling until a length does not fit, then bisecting to a sixteenth.
Results are not verified, because a reference may not fit where an implementation does; so only cases that
have passed their contract at a length of the schedule are searched.
"""

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.core.case import Case
from harness.core.errors import MachineError, Unsupported
from harness.core.machine import usable_memory
from harness.core.protocol import Job
from harness.core.record import Record
from harness.core.static_figures import Static
from harness.core.units import format_count
from harness.run.case.compiled_plan import NOT_COMPILED, CompiledPlan
from harness.run.compile.max_seq import Fit, LengthSearch, at_length
from harness.run.group.run_context import RunContext
from harness.run.processes.executor import Ended
from harness.run.processes.worker_process import Process, Processes
from harness.sweep.schedule import Group, Schedule

DRAWING_SHARE = 0.75  # of the machine's memory
UNPROVEN = "none of its lengths passed its contract in this run, so none was tried"


@dataclass(frozen=True)
class LengthTrial:
    """The outcome of one try: `fits` is None where it failed for another reason than memory.

    `peak_bytes` is the allocator's peak, `outside_bytes` what the device or process holds beside it; both
    None where the call was not reached, or they are not known. `by` names the counter.
    """

    seq: int
    fits: bool | None
    reason: str | None = None
    peak_bytes: int | None = None
    outside_bytes: int | None = None
    by: str = ""


@dataclass(frozen=True)
class MeasuredFit(Fit):
    """A Fit by running: its `target` is the device, `trials` are all tries in order."""

    trials: tuple[LengthTrial, ...] = ()


class LengthTrials:
    """Tries lengths of a run's cases, each in a process of its own."""

    def __init__(self, processes: Processes, context: RunContext) -> None:
        self.processes, self.catalog, self.listener = processes, context.catalog, context.listener
        self.folder = context.folder / "max-seq"
        self.changed_source = context.changed_source

    def search(self, cases: Sequence[Case], group: Group) -> tuple[LengthSearch, tuple[LengthTrial, ...]]:
        """Search from the longest of the cases, which differ in length alone; without cases there is none."""
        search, trials = LengthSearch(), list[LengthTrial]()
        if not cases:
            search.reason = UNPROVEN
            return search, ()
        case = max(cases, key=lambda case: case.seq)
        length: int | None = case.seq
        while length is not None:
            self.listener.message(f"largest length of {case.label}: trying {format_count(length)}")
            trials.append(self._try(at_length(case, length), group))
            if trials[-1].fits is False:  # again: compiler threads may have taken the memory once, by chance
                trials.append(self._try(at_length(case, length), group))
            search.record(length, fits=trials[-1].fits, why=trials[-1].reason)
            length = search.next_length()
        return search, tuple(trials)

    def _try(self, case: Case, group: Group) -> LengthTrial:
        """Compile the case in a new process, place its inputs, and call it once."""
        timeout_s, limit = group.settings.timeout_s, group.settings.memory_bytes
        self.folder.mkdir(parents=True, exist_ok=True)
        worker: Process | None = None
        try:
            worker = self._spawn("trial", case, group)
            input_bytes = worker.ask("prepare", timeout_s, trace_s=0.0)["input_bytes"]
            if why := self.changed_source(case.implementation):
                return LengthTrial(case.seq, None, why)
            inputs = CompiledPlan("", Static.none(NOT_COMPILED), input_bytes)
            if case.device == "cpu" and (reason := inputs.too_large(limit)):
                return LengthTrial(case.seq, False, reason)
            self._draw(case, group)
            return LengthTrial(case.seq, True, None, **worker.ask("attempt", timeout_s))
        except Unsupported as refusal:
            return LengthTrial(case.seq, None, str(refusal))
        except Ended as end:
            return LengthTrial(case.seq, False if end.status == "oom" else None, end.reason)
        finally:
            if worker is not None:
                worker.close_and_wait()  # what it held of the device must be free for the next one
            shutil.rmtree(self.folder, ignore_errors=True)

    def _draw(self, case: Case, group: Group) -> None:
        """Have a reference worker draw the inputs. Unsupported if it cannot: no fault of the case."""
        worker = self._spawn("reference", case, group)
        try:
            worker.ask("inputs", group.settings.timeout_s, sets=1, write=True)
        except (Ended, MachineError) as end:
            raise Unsupported(f"its inputs cannot be drawn: {end}") from None
        finally:
            worker.close()

    def _spawn(self, role: str, case: Case, group: Group) -> Process:
        info, family = self.catalog.implementation(case.implementation), self.catalog.family(case.family)
        draws, limit = role == "reference", group.settings.memory_bytes
        job = Job(
            role=role,
            framework=family.reference_framework if draws else info.framework,
            module=family.module if draws else info.module,
            case=case,
            group=case.group,
            folder=str(self.folder),
            seed=group.settings.seed,
            threads=group.settings.threads,
            # Drawing the inputs is not limited by the case's memory.
            memory_bytes=max(limit, int(DRAWING_SHARE * usable_memory())) if draws else limit,
        )
        return self.processes.spawn(job, limit)


def measure_max_seq(
    trials: LengthTrials,
    schedule: Schedule,
    records: Iterable[Record],
    done: Sequence[dict[str, Any]],
    keep: Callable[[list[dict[str, Any]]], None],
) -> None:
    """Search every series of the schedule that is not `done`, and `keep` all fits, as data, after each one.

    A series that several suites share is searched once. After Ctrl-C, what was kept stays.
    """
    fits = list(done)
    stored = {(fit["suite"], fit["implementation"], fit["panel"], fit["target"]) for fit in fits}
    passed = {record.case for record in records if record.status == "ok" and not record.expected}
    groups = {case.series: group for group in schedule.groups for case in group.cases}
    searched: dict[str, tuple[LengthSearch, tuple[LengthTrial, ...]]] = {}
    for suite in schedule.suites:
        for case in {case.series: case for case in suite.cases}.values():
            place = (suite.name, case.label, case.panel, case.device)
            if place in stored or case.series not in groups:
                continue
            if case.series not in searched:
                proven = [each for each in suite.cases if each.series == case.series and each.id in passed]
                searched[case.series] = trials.search(proven, groups[case.series])
            search, tried = searched[case.series]
            fits.append(asdict(MeasuredFit(*place, search.seq, search.beyond, search.reason, tried)))
            keep(fits)
