"""One compilation at a time: a fork per case for the host, a lasting process per kind of foreign target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.catalog.accelerators import HOST, target
from harness.catalog.catalog import Catalog
from harness.run.compiling.ask import Answer, Ask
from harness.run.executor import Ended
from harness.run.processes import Process, Processes
from harness.spec.errors import Unsupported
from harness.spec.protocol import Job
from harness.sweep.settings import Settings

TRACE_SECONDS = 30.0  # a trace over fake tensors that takes longer is abandoned
COMPILER_BYTES = 4 << 30  # a compiler, or a trace, that takes more is stopped
LASTING_BYTES = 3 << 29  # one that keeps more between cases makes room for a new one

ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "1",  # warnings: some say that another program was taken
    "TPU_SKIP_MDS_QUERY": "1",  # no TPU is here, and none is looked for
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5p-8",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_LOG_DIR": "disabled",
}


class Lane:
    """Belongs to one thread, but for :meth:`interrupt`. Its processes start when they are needed."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.host = Processes([], "cpu")
        self.foreign = Processes([], "cpu", environment=ENVIRONMENT)
        self.compilers: dict[str, tuple[Process, int]] = {}  # by kind: the process, and what it has compiled
        self.working: Process | None = None

    def compile(self, ask: Ask, settings: Settings) -> Answer:
        """MachineError when no process can be started; all else that may happen is an answer."""
        info = self.catalog.implementation(ask.case.implementation)
        kind = target(ask.target).kind
        if kind != HOST and info.framework != "jax":
            why = f"{info.framework} has no compiler for {ask.target}; its figures are the host's"
            return Answer.failed("unsupported", why)
        try:
            if kind == HOST:
                return self._here(ask, settings)
            return self._elsewhere(ask, settings, kind)
        except Unsupported as refusal:
            return Answer.failed("unsupported", str(refusal))
        except Ended as end:
            return Answer.failed(end.status, end.reason)

    def _here(self, ask: Ask, settings: Settings) -> Answer:
        job = self._job(ask, settings, "case")
        worker = self.working = self.host.spawn(job, COMPILER_BYTES)
        try:
            trace_s = min(TRACE_SECONDS, settings.timeout_s / 2)
            return Answer.of(worker.ask("prepare", settings.timeout_s, trace_s=trace_s))
        finally:
            self.working = None
            worker.close()

    def _elsewhere(self, ask: Ask, settings: Settings, kind: str) -> Answer:
        """What fails in a process that has compiled others before is tried again in one that has not."""
        worker, before = self.compilers.pop(kind, (None, 0))
        try:
            return Answer.of(self._compiled(worker, before, ask, settings, kind))
        except Ended as end:
            if not before or end.status == "timeout":
                raise
        return Answer.of(self._compiled(None, 0, ask, settings, kind))

    def _compiled(
        self, worker: Process | None, before: int, ask: Ask, settings: Settings, kind: str
    ) -> Mapping[str, Any]:
        job = self._job(ask, settings, "target")
        if worker is None:
            worker = self.foreign.spawn(job, COMPILER_BYTES)
        self.working, keep = worker, False
        try:
            told = worker.ask("compile", settings.timeout_s, job=job.to_json(), name=ask.target)
            keep = told["resident_bytes"] < LASTING_BYTES
        except Unsupported:
            keep = True
            raise
        finally:
            self.working = None
            if keep:
                self.compilers[kind] = (worker, before + 1)
            else:
                worker.close()
        return told

    def _job(self, ask: Ask, settings: Settings, role: str) -> Job:
        case = ask.case
        info = self.catalog.implementation(case.implementation)
        return Job(
            role=role,
            framework=info.framework,
            implementation=case.implementation,
            module=info.module,
            options=dict(case.options),
            workload=dict(case.workload),
            mode=case.mode,
            device="cpu",
            group=case.group,
            folder=str(self.host.folder),
            seed=settings.seed,
            threads=settings.threads,
            memory_bytes=COMPILER_BYTES,
        )

    def interrupt(self) -> None:
        """From another thread: what is being compiled ends."""
        if (worker := self.working) is not None:
            worker.kill()

    def close(self) -> None:
        for worker, _ in self.compilers.values():
            worker.close()
        self.foreign.close()
        self.host.close()
