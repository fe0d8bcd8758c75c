"""Compile every Triton kernel for GPUs that are not at hand, with one Triton or several; nothing runs.

    python -m tests.triton_matrix                                # with the installed Triton
    python -m tests.triton_matrix --tritons build/tritons/3.6.0 build/tritons/3.7.1
    python -m tests.triton_matrix --cover each                   # every width, head count, dtype and option once
    python -m tests.triton_matrix --all                          # every pair of them

A folder of `--tritons` is what `pip install --target` has put a Triton into. Prints a row per implementation,
and each case that does not compile; 1 where one does not.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from queue import SimpleQueue

from harness.core.errors import Unsupported
from harness.core.machine import usable_cores
from tests.triton_corners import STRENGTHS, corners

TARGETS = ("cuda:sm_80", "cuda:sm_90", "cuda:sm_100")
REFUSED = "fake tensors cannot trace it: Unsupported: "  # by the call, not by its builder


def compile_case(corner, target):
    """(compiled, refused or failed; what is worth knowing) of a case for a target."""
    from harness.catalog import loading
    from harness.catalog.build import build
    from harness.worker.frameworks.base import Patience
    from harness.worker.frameworks.triton.kernel_compiler import compile_call, gpu_of, use_absent_gpu

    wanted = gpu_of(target)
    use_absent_gpu(wanted)
    try:
        built = build(loading.load(corner.module), corner.case)
    except Unsupported as refusal:
        return "refused", str(refusal)
    static = compile_call(built, corner.case.mode, wanted, Patience(600.0, 1 << 60))
    if not static.kernels and static.temp_bytes is None:  # a call may also do without a kernel
        reason = static.unavailable["temp_bytes"]
        return ("refused" if reason.startswith(REFUSED) else "failed"), reason.removeprefix(REFUSED)
    unfit = [f"{kernel.kernel}: {kernel.refused}" for kernel in static.kernels if kernel.refused]
    spills = [
        f"{kernel.kernel} spills {kernel.spilled_bytes} B a thread"
        for kernel in static.kernels
        if kernel.spilled_bytes
    ]
    return "compiled", "; ".join([*unfit, *spills])


def serve(pipe, triton, cache):
    """Compile the jobs of a pipe, in a process that finds this Triton first; begins with its version."""
    from harness.core.version import version_of
    from harness.worker.frameworks.triton.environment import prepare_environment

    if triton:
        sys.path.insert(0, str(triton))
    prepare_environment(interpret=False, cache=cache)
    pipe.send(version_of("triton"))
    for job in iter(pipe.recv, None):
        begin = time.monotonic()
        try:
            outcome = compile_case(*job)
        except Exception as error:  # a compiler's passes may raise anything
            outcome = "failed", f"{type(error).__name__}: {error}".splitlines()[0]
        pipe.send((*outcome, time.monotonic() - begin))


class Compiler:
    """A process that compiles one job after the other, and the version of its Triton."""

    def __init__(self, triton, cache):
        self.made_of = triton, cache
        self.pipe, theirs = get_context("fork").Pipe()
        self.process = get_context("fork").Process(target=serve, args=(theirs, triton, cache), daemon=True)
        self.process.start()
        theirs.close()
        self.version = self.pipe.recv()

    def compile(self, job):
        """(outcome, what is worth knowing, seconds); a compiler that ends its process has failed."""
        try:
            self.pipe.send(job)
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            outcome = "failed", f"the compiler ended its process: {self.process.exitcode}", 0.0
            self.__init__(*self.made_of)
            return outcome


def compile_all(triton, jobs):
    """(the version of a Triton, the outcomes of the jobs), on all cores."""
    cores, idle = usable_cores(), SimpleQueue()

    def compile_one(job):
        compiler = idle.get()
        try:
            return compiler.compile(job)
        finally:
            idle.put(compiler)

    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(cores) as threads:
        compilers = [Compiler(triton, Path(cache)) for _ in range(cores)]
        for compiler in compilers:
            idle.put(compiler)
        outcomes = list(threads.map(compile_one, jobs))
        for compiler in compilers:
            compiler.pipe.send(None)
            compiler.process.join()
    return compilers[0].version, outcomes


def print_matrix(jobs, outcomes, targets):
    """A row per implementation, a column per Triton and target: how many cases compiled, and what did not."""
    names = list(dict.fromkeys(corner.case.implementation for corner, _ in jobs))
    heads = [f"{triton} {target.partition(':')[2]}" for triton in outcomes for target in targets]
    width = max(map(len, names)) + 2
    print(" " * width, *(f"{head:>14}" for head in heads))
    for name in names:
        cells = []
        for found in outcomes.values():
            for target in targets:
                count = Counter(
                    outcome
                    for (corner, at), (outcome, *_) in zip(jobs, found, strict=True)
                    if corner.case.implementation == name and at == target
                )
                cells.append("FAILED" if count["failed"] else f"{count['compiled']} compiled")
        print(f"{name:{width}}", *(f"{cell:>14}" for cell in cells))


def print_outcomes(jobs, outcomes, wanted):
    for triton, found in outcomes.items():
        for (corner, target), (outcome, why, seconds) in zip(jobs, found, strict=True):
            if outcome in wanted and why:
                print(f"Triton {triton}, {target}, {corner.case.id}: {outcome}: {why} ({seconds:.1f} s)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tritons", nargs="+", type=Path, default=[None], metavar="FOLDER")
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="implementations; default: all")
    parser.add_argument("--cover", choices=STRENGTHS, default="ordinary")
    parser.add_argument("--all", action="store_const", const="pairs", dest="cover")
    parser.add_argument("--verbose", action="store_true", help="also print refusals, spills and what does not fit")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        chosen = [
            corner
            for corner in corners(folder, STRENGTHS[given.cover])
            if not given.only or corner.case.implementation.partition("/")[2] in given.only
        ]
        jobs = [(corner, target) for corner in chosen for target in given.targets]
        begin = time.monotonic()
        outcomes = dict(compile_all(triton, jobs) for triton in given.tritons)
    print_matrix(jobs, outcomes, given.targets)
    print_outcomes(jobs, outcomes, ("failed", "refused", "compiled") if given.verbose else ("failed",))
    ends = [outcome for found in outcomes.values() for outcome, *_ in found]
    count = Counter(ends)
    print(
        f"{len(ends)} compilations: {count['compiled']} compiled, {count['refused']} refused in a sentence, "
        f"{count['failed']} failed, in {time.monotonic() - begin:.0f} s"
    )
    sys.exit(count["failed"] > 0)


if __name__ == "__main__":
    main()
