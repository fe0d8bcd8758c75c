"""`seqsweep static`: compiles every case of a schedule for every target, and stores the results as a run."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from harness.catalog.accelerators import HOST, target, why_not_by_xla
from harness.catalog.known_frameworks import traits_of
from harness.core.case import Case
from harness.core.record import Record
from harness.core.static_figures import Static
from harness.core.stop_signals import terminable
from harness.core.units import format_count
from harness.run.compile.max_seq import MaxSeqSearch
from harness.run.compile.pool import Pool
from harness.run.compile.request import CompileRequest, CompileResult
from harness.run.events import Listener
from harness.run.group.group_run import new_record
from harness.run.group.run_context import Provenance
from harness.run.machine.lock import device_lock
from harness.run.machine.probes import probe_fingerprint
from harness.run.runner import totals
from harness.run.session import Done, Request, open_run, write_provenance
from harness.store.runs import RunFolder


def static_run(
    request: Request,
    targets: Sequence[str],
    listener: Listener,
    *,
    longest: bool = False,
    owners: bool = False,
) -> Done:
    """Compile a schedule to its end, or to Ctrl-C, and store the results like a run's.

    With `owners`, the figures include the buffers of each planned peak. With `longest`, it also searches the
    largest length that fits each target.
    """
    by_xla = any(traits_of(info.framework).by_xla for info in request.schedule.implementations.values())
    for missing in dict.fromkeys(why_not_by_xla(target(name)) for name in targets if by_xla):
        if missing:
            listener.message(missing)
    with ExitStack() as stack:
        if request.wait:
            stack.enter_context(device_lock("cpu", " ".join(request.command), wait=listener.message))
        writer = stack.enter_context(ExitStack())  # closed after the workers, which could still write
        settings = request.schedule.suites[0].settings
        pool = stack.enter_context(closing(Pool(request.catalog, request.results)))
        stack.enter_context(terminable())
        folder = writer.enter_context(open_run(request, listener))
        folder.update_info(targets=list(targets))
        run = _StaticRun(request, targets, listener, pool, folder, owners)
        run.submit_all()  # a framework is imported while the machine is probed
        run.provenance = write_provenance(folder, probe_fingerprint("cpu", settings.threads), settings.seed)
        return run.run(longest=longest)


@dataclass
class _StaticRun:
    request: Request
    targets: Sequence[str]
    listener: Listener
    pool: Pool
    folder: RunFolder
    owners: bool
    provenance: Provenance = field(init=False)
    answers: dict[str, dict[str, CompileResult]] = field(default_factory=dict[str, dict[str, CompileResult]])
    shown: int = -1  # the index of the group that the listener was last notified of
    cached: int = 0
    compiled: int = 0

    def __post_init__(self) -> None:
        groups = enumerate(self.request.schedule.groups)
        self.groups = {case.id: (at, group) for at, group in groups for case in group.cases}
        self.start = time.monotonic()

    def submit_all(self) -> None:
        for group in self.request.schedule.groups:
            for case in group.cases:
                for name in self.targets:
                    self.pool.submit(CompileRequest(case, name, self.owners), group.settings)

    def run(self, *, longest: bool) -> Done:
        largest: list[dict[str, Any]] = []
        interrupted = False
        try:
            self.folder.append(
                [
                    self._new_record(
                        skip.case,
                        "unsupported",
                        reason=skip.reason,
                        static={name: Static.none(skip.reason) for name in self.targets},
                    )
                    for skip in self.request.schedule.skips
                ]
            )
            self._take_all(self._take)
            if longest:
                largest = self._search_max_seq()
        except KeyboardInterrupt:  # the results of an incomplete group are in the cache
            interrupted = True
        finished = None if interrupted else datetime.now(UTC).isoformat(timespec="seconds")
        self.folder.update_info(finished=finished, overhead=self._account(), largest=largest)
        return Done(self.folder, interrupted)

    def _take_all(self, handle: Callable[[CompileRequest, CompileResult], None]) -> None:
        """Handle answers until none is pending."""
        while self.pool.open_requests:
            request, answer = self.pool.next_result()
            self.cached += answer.cached
            self.compiled += not answer.cached and answer.status != "unsupported"
            handle(request, answer)

    def _search_max_seq(self) -> list[dict[str, Any]]:
        search = MaxSeqSearch(self.request.schedule, self.answers)
        while requests := search.next_requests():
            lengths = sorted({request.case.seq for request, _ in requests})
            listed = ", ".join(map(format_count, lengths))
            self.listener.message(f"searching for the largest length that fits: trying {listed}")
            for request, group in requests:
                self.pool.submit(request, group.settings)
            self._take_all(search.record)
        return search.fits()

    def _take(self, request: CompileRequest, answer: CompileResult) -> None:
        at, group = self.groups[request.case.id]
        self.answers.setdefault(request.case.id, {})[request.target] = answer
        if at != self.shown:
            self.shown = at
            self.listener.group_started(at, group.key, [case.id for case in group.cases], self._remaining_s())
        self.listener.case_state(request.case.id, f"{request.target}: {answer.reason or 'compiled'}")
        if all(len(self.answers.get(case.id, ())) == len(self.targets) for case in group.cases):
            records = [self._record(case) for case in group.cases]
            self.folder.append(records)
            self.listener.group_finished(records, self._remaining_s())

    def _record(self, case: Case) -> Record:
        """The record of a case from its answers, one for each target."""
        answers = self.answers[case.id]
        results = [answers[name] for name in self.targets]
        representative = next((result for result in results if result.status == "ok"), results[0])
        facts = {
            fact if name == HOST else f"{fact} on {name}": value
            for name, answer in answers.items()
            for fact, value in answer.facts.items()
        }
        statics = {name: answers[name].static for name in self.targets}
        crash = f"{case.id}\n{representative.reason}\n\n{representative.output}"
        return self._new_record(
            case,
            representative.status,
            reason=representative.reason,
            static=statics,
            cost=representative.cost,
            facts=facts,
            expected=representative.expected,
            crash_file=self.folder.write_crash(case, 0, crash) if representative.output else "",
        )

    def _new_record(self, case: Case, status: str, **evidence: Any) -> Record:
        info = self.request.catalog.implementation(case.implementation)
        _, group = self.groups.get(case.id, (0, None))
        baseline = bool(group and case.id in group.baselines.get(case.id, ()))
        started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return new_record(case, info, self.provenance, status, baseline=baseline, started=started, **evidence)

    def _remaining_s(self) -> float | None:
        spent_s = time.monotonic() - self.start
        return spent_s / self.compiled * self.pool.open_requests if self.compiled else None

    def _account(self) -> dict[str, Any]:
        """The run's overhead; `compile_s` is the mean time that a worker spent compiling."""
        wall = time.monotonic() - self.start
        compiling = min(wall, self.pool.busy_s / len(self.pool.workers))
        spent = {"compile_s": compiling, "other_s": wall - compiling}
        return {**totals(wall, spent), "compiled": self.compiled, "cached": self.cached}
