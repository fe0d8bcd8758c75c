"""Compile worker: compiles one case at a time, in a fork for the host, else in a reused process."""

from dataclasses import replace

from harness.catalog.accelerators import HOST, target
from harness.catalog.catalog import Catalog
from harness.catalog.known_frameworks import traits_of
from harness.core.errors import Unsupported
from harness.core.protocol import Job
from harness.core.units import format_bytes
from harness.run.compile.request import CompileRequest, CompileResult
from harness.run.processes.executor import Ended
from harness.run.processes.worker_process import Process, Processes
from harness.sweep.settings import Settings

TRACE_SECONDS = 30.0  # a trace over fake tensors that takes longer is abandoned
TURNS = 5  # a compiler's timeout, in timeouts of a call: f32 products for a TPU take half a minute
COMPILER_BYTES = 4 << 30  # a compiler, or a trace, that uses more memory is killed
LASTING_BYTES = 5 << 28  # a compiler process that uses more memory between cases is replaced
WORKER_BYTES = COMPILER_BYTES + 2 * LASTING_BYTES  # of the working process and the idle ones
FULL = f"compiling takes more than {format_bytes(COMPILER_BYTES)} of memory; shorten the sequence"
OWN = "impls."  # importing these modules is known not to affect other cases


class _NotStarted(Unsupported):
    """A framework cannot be imported here now."""


class CompileWorker:
    """Compiles for one thread at a time; only :meth:`interrupt` is thread-safe. Processes start when needed.

    Workers of the same `processes` share fork servers, so that a framework is imported once. `core` is the
    index of a worker's first core: with fewer threads than cores, all workers would otherwise be pinned to
    the first ones.
    """

    def __init__(self, catalog: Catalog, processes: Processes, core: int = 0) -> None:
        self.catalog, self.core = catalog, core
        self.processes = processes.for_another_thread()
        self.idle: dict[tuple[str, str], Process] = {}  # by framework and kind of target
        self.working: Process | None = None
        self.stopped = False

    def compile(self, request: CompileRequest, settings: Settings) -> CompileResult:
        """Compile a case. MachineError when no process can be started; any other failure is a result."""
        info = self.catalog.implementation(request.case.implementation)
        kind = target(request.target).kind
        if kind != HOST and not traits_of(info.framework).cross_compiler:
            why = f"{info.framework} cannot compile for {request.target}; use --target host"
            return CompileResult.failed("unsupported", why)
        try:
            if kind == HOST:
                return self._compile_for_host(request, settings)
            return self._compile_for_target(request, settings, kind)
        except Unsupported as refusal:
            transient = isinstance(refusal, _NotStarted)
            return CompileResult.failed("unsupported", str(refusal), transient=transient)
        except Ended as end:
            why = FULL if end.status == "oom" else end.reason
            return CompileResult.failed(end.status, why, output=end.output if end.status == "crashed" else "")

    def _compile_for_host(self, request: CompileRequest, settings: Settings) -> CompileResult:
        worker = self.working = self._spawn(request, settings, "case")
        trace_s = min(TRACE_SECONDS, settings.timeout_s / 2)
        try:
            answer = worker.ask("prepare", settings.timeout_s, trace_s=trace_s, **request.extras)
            return CompileResult.of(answer)
        finally:
            self.working = None
            worker.close()

    def _compile_for_target(self, request: CompileRequest, settings: Settings, kind: str) -> CompileResult:
        """Compile in an idle process, and retry in a fresh one if that fails.

        The retry is needed because earlier cases may have caused the failure. A plugin gets its own process,
        because importing it may change what is compiled afterwards.
        """
        info = self.catalog.implementation(request.case.implementation)
        builtin, place = info.module.startswith(OWN), (info.framework, kind)
        idle = self.idle.pop(place, None) if builtin else None
        if idle is not None:
            try:
                return self._compile_in(idle, request, settings, place)
            except Ended as end:
                if end.status == "timeout" or self.stopped:
                    raise
        fresh = self._spawn(request, settings, "target")
        return self._compile_in(fresh, request, settings, place if builtin else None)

    def _compile_in(
        self, worker: Process, request: CompileRequest, settings: Settings, reuse_for: tuple[str, str] | None
    ) -> CompileResult:
        """Compile in a process, and keep it idle for `reuse_for` (framework, kind of target) if reusable."""
        self.working, reusable = worker, False
        try:
            job = self._job(request, settings, "target")
            arguments = {"job": job.to_json(), "name": request.target, **request.extras}
            answer = worker.ask("compile", TURNS * settings.timeout_s, **arguments)
            reusable = answer["resident_bytes"] < LASTING_BYTES and not answer["spent"]
        except Unsupported:
            reusable = True
            raise
        finally:
            self.working = None
            if reusable and reuse_for:
                self.idle[reuse_for] = worker
            else:
                worker.close()
        return CompileResult.of(answer)

    def _spawn(self, request: CompileRequest, settings: Settings, role: str) -> Process:
        try:
            return self.processes.spawn(self._job(request, settings, role), WORKER_BYTES)
        except Unsupported as missing:
            raise _NotStarted(str(missing)) from None

    def _job(self, request: CompileRequest, settings: Settings, role: str) -> Job:
        case = replace(request.case, device="cpu")
        info = self.catalog.implementation(case.implementation)
        return Job(
            role=role,
            framework=info.framework,
            module=info.module,
            case=case,
            group=request.case.group,
            folder=str(self.processes.folder),
            seed=settings.seed,
            threads=settings.threads,
            memory_bytes=COMPILER_BYTES,
            core=self.core,
        )

    def interrupt(self) -> None:
        """End the current compilation without a retry; may be called from another thread."""
        self.stopped = True
        if (worker := self.working) is not None:
            worker.kill()

    def close(self) -> None:
        for worker in self.idle.values():
            worker.close()
