"""One compilation at a time: a fork per case for the host, a lasting process per kind of foreign target."""

from __future__ import annotations

from dataclasses import replace

from harness.catalog.accelerators import HOST, target
from harness.catalog.catalog import Catalog
from harness.core.errors import Unsupported
from harness.core.protocol import Job
from harness.core.units import format_bytes
from harness.run.compile.request import CompileRequest, CompileResult
from harness.run.processes.executor import Ended
from harness.run.processes.worker_process import Process, Processes
from harness.sweep.settings import Settings

TRACE_SECONDS = 30.0  # a trace over fake tensors that takes longer is abandoned
TURNS = 5  # a compiler's time for one case, in a case's own turns: f32 products on a TPU take half a minute
COMPILER_BYTES = 4 << 30  # a compiler, or a trace, that takes more is stopped
LASTING_BYTES = 5 << 28  # one that keeps more between cases makes room for a new one
WORKER_BYTES = COMPILER_BYTES + 2 * LASTING_BYTES  # the one that works, and those that wait
FULL = f"compiling it takes more than {format_bytes(COMPILER_BYTES)} of this machine; shorten the sequence"
OWN = "impls."  # modules whose import changes nothing for others


class CompileWorker:
    """Belongs to one thread, but for :meth:`interrupt`. Its processes start when they are needed."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.processes: Processes | None = None
        self.compilers: dict[str, Process] = {}  # those that wait, by kind of target
        self.working: Process | None = None
        self.stopped = False

    def compile(self, request: CompileRequest, settings: Settings) -> CompileResult:
        """MachineError when no process can be started; all else that may happen is an answer."""
        info = self.catalog.implementation(request.case.implementation)
        kind = target(request.target).kind
        if kind != HOST and info.framework != "jax":
            why = f"{info.framework} has no compiler for {request.target}; its figures are the host's"
            return CompileResult.failed("unsupported", why)
        try:
            return (
                self._compile_for_host(request, settings)
                if kind == HOST
                else self._compile_for_target(request, settings, kind)
            )
        except Unsupported as refusal:
            return CompileResult.failed("unsupported", str(refusal))
        except Ended as end:
            return CompileResult.failed(end.status, FULL if end.status == "oom" else end.reason)

    def _compile_for_host(self, request: CompileRequest, settings: Settings) -> CompileResult:
        worker = self._spawn(request, settings, "case")
        if isinstance(worker, CompileResult):
            return worker
        self.working = worker
        try:
            trace_s = min(TRACE_SECONDS, settings.timeout_s / 2)
            return CompileResult.of(worker.ask("prepare", settings.timeout_s, trace_s=trace_s))
        finally:
            self.working = None
            worker.close()

    def _compile_for_target(self, request: CompileRequest, settings: Settings, kind: str) -> CompileResult:
        """What fails in a process that has compiled others before is tried again in one that has not.

        Code from elsewhere gets a process of its own: importing it may change what is compiled next.
        """
        own = self.catalog.implementation(request.case.implementation).module.startswith(OWN)
        used = self.compilers.pop(kind, None) if own else None
        if used is not None:
            try:
                return self._compile_in(used, request, settings, kind)
            except Ended as end:
                if end.status == "timeout" or self.stopped:
                    raise
        fresh = self._spawn(request, settings, "target")
        if isinstance(fresh, CompileResult):
            return fresh
        return self._compile_in(fresh, request, settings, kind if own else None)

    def _compile_in(
        self, worker: Process, request: CompileRequest, settings: Settings, lasts_for: str | None
    ) -> CompileResult:
        """`lasts_for`: the kind of target that the process may go on to compile for afterwards."""
        self.working, lasts = worker, False
        try:
            job = self._job(request, settings, "target")
            told = worker.ask("compile", TURNS * settings.timeout_s, job=job.to_json(), name=request.target)
            lasts = told["resident_bytes"] < LASTING_BYTES and not told["spent"]
        except Unsupported:
            lasts = True
            raise
        finally:
            self.working = None
            if lasts and lasts_for:
                self.compilers[lasts_for] = worker
            else:
                worker.close()
        return CompileResult.of(told)

    def _spawn(self, request: CompileRequest, settings: Settings, role: str) -> Process | CompileResult:
        """A process; or the answer where its framework cannot be imported now."""
        if self.processes is None:
            self.processes = Processes([], "cpu")
        try:
            return self.processes.spawn(self._job(request, settings, role), WORKER_BYTES)
        except Unsupported as missing:
            return CompileResult.failed("unsupported", str(missing), passing=True)

    def _job(self, request: CompileRequest, settings: Settings, role: str) -> Job:
        case = replace(request.case, device="cpu")
        info = self.catalog.implementation(case.implementation)
        return Job(
            role=role,
            framework=info.framework,
            module=info.module,
            case=case,
            group=request.case.group,
            folder="",  # nothing is handed over
            seed=settings.seed,
            threads=settings.threads,
            memory_bytes=COMPILER_BYTES,
        )

    def interrupt(self) -> None:
        """From another thread: what is being compiled ends, and is not begun again."""
        self.stopped = True
        if (worker := self.working) is not None:
            worker.kill()

    def close(self) -> None:
        for worker in self.compilers.values():
            worker.close()
        if self.processes is not None:
            self.processes.close()
