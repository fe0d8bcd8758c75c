"""The worker of one cold start: import, build, compile and call a case in a new interpreter, each step timed.

`python -m harness.worker.cold_worker FILE` reads its question from FILE and writes the answer beside it.
Apart from a few modules of the harness it imports what any program that calls the implementation would.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.catalog import loading
from harness.catalog.build import build
from harness.core.protocol import Job
from harness.worker import array_files, resource_limits
from harness.worker.frameworks import base as frameworks
from harness.worker.frameworks.base import Framework, Patience

NO_COMPILER = "nothing is compiled before it is called"
AUTOTUNE = "a part of compile, where it tries anything out"
UNTRACED = Patience(0, 0)


def cold_start(job: Job, started: float, later: int, cached: str | None) -> dict[str, Any]:
    """Seconds by step, and why other steps have none. `started` is the clock before the interpreter started.

    Without `cached` it makes `later` calls and times the first and the last. With `cached`, the folder of a
    filled compiler cache, it times only the compilation: a cache hit.
    """
    clock = time.monotonic
    resource_limits.pin(job.threads)
    framework = frameworks.get(job.framework)
    wide = dict(job.case.workload).get("dtype") == "f64"
    framework.start(job.case.device, job.threads, wide=wide)
    module = loading.load(job.module)
    steps = {"import": clock() - started}
    if job.case.device == "cpu":
        resource_limits.cap_memory(job.memory_bytes)
    if cached:
        framework.keep_programs(cached)
    framework.enter(job.case.mode, wide=wide)
    built = build(module, job.case)
    marks: list[float] = []  # begin and end of each compilation, alternating
    framework.on_compilation(lambda _: marks.append(clock()))
    prepared = framework.prepare(built.function, built.names, built.shapes, job.case.mode, UNTRACED)
    steps |= prepared.steps
    folder = Path(job.folder)
    inputs = array_files.read(folder / "set1", framework.put, only=built.names)
    cotangent = None if job.case.mode == "fwd" else array_files.read(folder / "cotangent0", framework.put)
    call = prepared.bind(inputs, cotangent)
    if not (cached and prepared.steps):
        steps["first call"] = _seconds(framework, call, clock)
    if compiling_s := sum(end - begin for begin, end in zip(marks[::2], marks[1::2], strict=False)):
        steps["compile"] = compiling_s
        steps["first call"] -= compiling_s
    missing: dict[str, str] = {"autotune": AUTOTUNE}
    if "compile" not in steps:
        missing = dict.fromkeys(("trace", "lower", "compile", "autotune", "cache hit"), NO_COMPILER)
    elif "lower" not in steps:
        missing |= dict.fromkeys(("trace", "lower"), "a part of compile")
    if cached:
        return {"steps": {"cache hit": steps.get("compile", 0.0)}}
    for _ in range(later - 1):
        steps["later call"] = _seconds(framework, call, clock)
    return {"steps": steps, "missing": missing}


def _seconds(framework: Framework, call: Callable[[], Any], clock: Callable[[], float]) -> float:
    start = clock()
    framework.sync(call())
    return clock() - start


def main(file: Path) -> None:
    asked = json.loads(file.read_text())
    answer = cold_start(Job.from_json(asked.pop("job")), **asked)
    file.with_suffix(".answer").write_text(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
