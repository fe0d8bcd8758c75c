"""A pool of compile workers, one per core, with a cache of results keyed by everything they depend on."""

import dataclasses
import os
import platform
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import msgspec

from harness.catalog.accelerators import HOST, target, why_not_by_xla
from harness.catalog.catalog import Catalog
from harness.catalog.known_frameworks import traits_of
from harness.core.machine import processor, usable_cores, usable_memory
from harness.core.paths import PACKAGE
from harness.core.plain_data import digest
from harness.core.units import format_count
from harness.run.case.source_files import SourceFiles
from harness.run.compile.compile_worker import COMPILER_BYTES, CompileWorker
from harness.run.compile.request import CompileRequest, CompileResult
from harness.run.processes.fork_client import ENVIRONMENT
from harness.run.processes.worker_process import Processes
from harness.store import json_file
from harness.store.atomic import write_files
from harness.sweep.settings import Settings

# Prefixes of environment variables that change what is compiled.
FLAGS = ("CUDA_", "JAX_", "LIBTPU_", "NVIDIA_", "TORCH_", "TPU_", "TRITON_", "XLA_")
LAYERS = ("core", "catalog", "cubin", "xla", "worker")  # of the harness, whose code produces the figures


def cache_key(request: CompileRequest, catalog: Catalog, settings: Settings) -> dict[str, Any]:
    """The key as plain data: code, case, target, packages, flags; for the host also its processor.

    Kernels that XLA does not compile are keyed by compute capability, which determines their machine code.
    """
    info = catalog.implementation(request.case.implementation)
    target_ = target(request.target)
    if target_.capability and not traits_of(info.framework).by_xla:
        target_ = target(f"cuda:sm_{target_.capability.replace('.', '')}")
    host = {"processor": _processor(), "threads": settings.threads} if target_.kind == HOST else {}
    return {
        "case": request.case.id,
        "target": target_.name,
        "device": str(target_.accelerator),
        "source": info.hash,
        **request.extras,
        "reader": _reader(),
        "packages": _packages(),
        "flags": _flags(),
        **host,
    }


@cache
def _reader() -> str:
    files = sorted(path for layer in LAYERS for path in (PACKAGE / layer).rglob("*.py"))
    return _hash("\0".join(path.read_text(encoding="utf-8") for path in files))


@cache
def _packages() -> str:
    """A hash of every installed distribution's version, because a compiler consists of many packages."""
    versions = {(package.name or "", package.version or "") for package in distributions()}
    return _hash(f"{platform.python_version()} {sorted(versions)}")


@cache
def _flags() -> str:
    variables = {name: value for name, value in os.environ.items() if name.startswith(FLAGS)}
    return _hash(str(sorted({**variables, **ENVIRONMENT}.items())))


@cache
def _processor() -> str:
    return _hash(f"{platform.machine()} {processor()}")


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _read_cached(path: Path) -> CompileResult | None:
    """The result in a cache file, named after the digest of its key; None without a readable file."""
    with suppress(OSError, ValueError, TypeError):  # it is incomplete, or another version wrote it
        return CompileResult.from_json(json_file.read(path))
    return None


WAIT_SECONDS = 0.2  # between checks for a Ctrl-C


def workers_of(catalog: Catalog, processes: Processes) -> list[CompileWorker]:
    """Compile workers that use these processes, one per core, or fewer if memory is short."""
    count = max(1, min(usable_cores(), usable_memory() // COMPILER_BYTES))
    return [CompileWorker(catalog, processes, core) for core in range(count)]


class Pool:
    """Compile workers, which start with the first request.

    Without `results` nothing is cached: a key covers only this environment, not that of other workers.
    """

    def __init__(self, catalog: Catalog, results: Path | None, workers: Sequence[CompileWorker] = ()) -> None:
        self.catalog, self.folder = catalog, results / "compiled" if results else None
        self.sources = SourceFiles(catalog, catalog.implementations)
        self.processes = Processes([], "cpu")
        self.workers = list(workers) or workers_of(catalog, self.processes)
        self.idle = list(self.workers)
        self.threads = ThreadPoolExecutor(len(self.workers))
        self.pending: dict[Future[CompileResult], str] = {}  # → its key
        self.requests: dict[str, list[tuple[CompileRequest, Settings]]] = {}  # by key, each compiled once
        self.results: list[tuple[CompileRequest, CompileResult]] = []
        self.open_requests = 0  # requests without a result from `next_result`
        self.slow: dict[tuple[str, str], int] = {}  # (series, target): a length that took too long
        self.busy_s = 0.0  # of all workers together
        self.counting = threading.Lock()  # of both

    def submit(self, request: CompileRequest, settings: Settings) -> None:
        key = digest(cache_key(request, self.catalog, settings))
        self.open_requests += 1
        self.requests.setdefault(key, []).append((request, settings))
        if len(self.requests[key]) == 1:
            self.pending[self.threads.submit(self._answer, request, settings, key)] = key

    def next_result(self) -> tuple[CompileRequest, CompileResult]:
        """The next result, in any order; MachineError when no process can be started."""
        while not self.results:
            answered, _ = wait(self.pending, WAIT_SECONDS, FIRST_COMPLETED)
            for future in answered:
                answer = future.result()
                for request, settings in self.requests.pop(self.pending.pop(future)):
                    self.results.append((request, answer.on_target(request.target, settings.memory_bytes)))
                    answer = dataclasses.replace(answer, cached=True)  # for further requests
        self.open_requests -= 1
        return self.results.pop(0)

    def close(self) -> None:
        """End all workers; running compilations are lost."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        while not all(future.done() for future in self.pending):
            for worker in self.workers:
                worker.interrupt()
            time.sleep(WAIT_SECONDS)
        for worker in self.workers:
            worker.close()
        self.processes.close()

    def _answer(self, request: CompileRequest, settings: Settings, key: str) -> CompileResult:
        info = self.catalog.implementation(request.case.implementation)
        by_xla = traits_of(info.framework).by_xla
        if missing := why_not_by_xla(target(request.target)) if by_xla else None:
            return CompileResult.failed("unsupported", missing, transient=True)
        path = self.folder / key[:2] / f"{key[2:]}.json" if self.folder else None
        if path is None or (answer := _read_cached(path)) is None:
            worker = self.idle.pop()
            try:
                answer = self._compile(worker, request, settings)
            finally:
                self.idle.append(worker)
            if why := self.sources.changed(request.case.implementation):
                return CompileResult.failed("skipped", why)
            if path and answer.repeatable:
                with suppress(TypeError, ValueError):  # a fact has no JSON form
                    write_files(path.parent, {path.name: msgspec.json.encode(answer.to_json())})
        return answer

    def _compile(self, worker: CompileWorker, request: CompileRequest, settings: Settings) -> CompileResult:
        series = (request.case.series, request.target)
        shorter = self.slow.get(series)
        if shorter is not None and shorter < request.case.seq:
            why = f"inferred: compiling seq {format_count(shorter)} took too long"
            return CompileResult.failed("skipped", why)
        start = time.monotonic()
        answer = worker.compile(request, settings)
        took_s = time.monotonic() - start
        with self.counting:
            self.busy_s += took_s
            if answer.status == "timeout":
                self.slow[series] = min(request.case.seq, self.slow.get(series, request.case.seq))
        return answer


def compile_all(
    requests: Sequence[CompileRequest],
    catalog: Catalog,
    *,
    results: Path,
    settings: Settings,
    on_answer: Callable[[CompileRequest, CompileResult], None] = lambda _ask, _answer: None,
) -> dict[CompileRequest, CompileResult]:
    """The results by request; `on_answer` is called with each. Repeatable results are cached in `results`."""
    unique = dict.fromkeys(requests)
    answers: dict[CompileRequest, CompileResult] = {}
    with closing(Pool(catalog, results)) as pool:
        for request in unique:
            pool.submit(request, settings)
        for _ in unique:
            request, answer = pool.next_result()
            answers[request] = answer
            on_answer(request, answer)
    return {request: answers[request] for request in unique}
