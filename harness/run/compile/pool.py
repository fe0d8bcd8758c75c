"""Compile requests answered on every core: from the cache, else by compiling."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from harness.catalog.accelerators import HOST, absent, target
from harness.catalog.catalog import Catalog
from harness.core.machine import usable_cores, usable_memory
from harness.core.units import format_count
from harness.run.compile.cache_key import key
from harness.run.compile.compile_worker import COMPILER_BYTES, CompileWorker
from harness.run.compile.request import CompileRequest, CompileResult
from harness.store.compile_cache import CompileCache
from harness.sweep.settings import Settings

WAIT_SECONDS = 0.2  # between looks for a Ctrl-C

Told = tuple[CompileRequest, CompileResult] | BaseException


class Compiling(Protocol):
    """What a pool needs of a :class:`CompileWorker`."""

    def compile(self, request: CompileRequest, settings: Settings) -> CompileResult: ...

    def interrupt(self) -> None: ...

    def close(self) -> None: ...


class Pool:
    """Compile workers, one per core where memory allows; they start with the first request."""

    def __init__(self, catalog: Catalog, results: Path, workers: Sequence[Compiling] | None = None) -> None:
        self.catalog, self.kept = catalog, CompileCache(results)
        self.asked: SimpleQueue[tuple[CompileRequest, Settings] | None] = SimpleQueue()
        self.answered: SimpleQueue[Told] = SimpleQueue()
        count = max(1, min(usable_cores(), usable_memory() // COMPILER_BYTES))
        self.workers: list[Compiling] = list(workers or (CompileWorker(catalog) for _ in range(count)))
        self.threads = [
            threading.Thread(target=self._serve, args=[worker], daemon=True) for worker in self.workers
        ]
        self.slow: dict[tuple[str, str], int] = {}  # (series, target): a length that took too long
        self.stopping = False
        self.busy_s = 0.0

    def ask(self, request: CompileRequest, settings: Settings) -> None:
        for thread in self.threads:
            if thread.ident is None:
                thread.start()
        self.asked.put((request, settings))

    def next(self) -> tuple[CompileRequest, CompileResult]:
        """The next answer; MachineError when nothing can be compiled here."""
        while True:
            with suppress(Empty):
                told = self.answered.get(timeout=WAIT_SECONDS)
                if isinstance(told, BaseException):
                    raise told
                return told

    def close(self) -> None:
        """End everything; what is being compiled is lost."""
        self.stopping = True
        for _ in self.threads:
            self.asked.put(None)
        for thread, worker in zip(self.threads, self.workers, strict=True):
            while thread.is_alive():
                thread.join(WAIT_SECONDS)
                worker.interrupt()
            worker.close()

    def _serve(self, worker: Compiling) -> None:
        while (todo := self.asked.get()) is not None and not self.stopping:
            try:
                self.answered.put((todo[0], self._answer(worker, *todo)))
            except BaseException as error:  # the thread that waits raises it
                self.answered.put(error)

    def _answer(self, worker: Compiling, request: CompileRequest, settings: Settings) -> CompileResult:
        kind = target(request.target).kind
        missing = absent(kind) if kind != HOST else None
        if missing:
            return CompileResult.failed("unsupported", missing)
        entry = key(request, self.catalog, settings)
        answer = self._read_kept(entry)
        if answer is None:
            answer = self._compile_timed(worker, request, settings)
            if answer.repeatable:
                self.kept.put(entry, answer.to_json())
        return answer.judged(request.target, settings.memory_bytes)

    def _read_kept(self, entry: Mapping[str, Any]) -> CompileResult | None:
        kept = self.kept.get(entry)
        with suppress(ValueError, TypeError, KeyError):  # another version wrote it
            return CompileResult.from_json(kept) if kept else None
        return None

    def _compile_timed(self, worker: Compiling, request: CompileRequest, settings: Settings) -> CompileResult:
        series = (request.case.series, request.target)
        shorter = self.slow.get(series)
        if shorter is not None and shorter < request.case.seq:
            return CompileResult.failed(
                "skipped", f"inferred: {format_count(shorter)} took too long to compile"
            )
        start = time.monotonic()
        answer = worker.compile(request, settings)
        self.busy_s += time.monotonic() - start
        if answer.status == "timeout":
            self.slow[series] = min(request.case.seq, self.slow.get(series, request.case.seq))
        return answer


def compile_all(
    requests: Sequence[CompileRequest],
    catalog: Catalog,
    *,
    results: Path,
    settings: Settings,
    told: Callable[[CompileRequest, CompileResult], None] = lambda _ask, _answer: None,
) -> dict[CompileRequest, CompileResult]:
    """Every answer; `told` hears of each as it comes. What comes out again is kept below `results`."""
    wanted = list(dict.fromkeys(requests))
    found: dict[CompileRequest, CompileResult] = {}
    pool = Pool(catalog, results)
    try:
        for request in wanted:
            pool.ask(request, settings)
        for _ in wanted:
            request, answer = pool.next()
            found[request] = answer
            told(request, answer)
    finally:
        pool.close()
    return {request: found[request] for request in wanted}
