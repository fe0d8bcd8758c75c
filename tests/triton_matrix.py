"""Compile every Triton kernel for GPUs that are not at hand, with one Triton or several; nothing runs.

    python -m tests.triton_matrix                                # with the installed Triton
    python -m tests.triton_matrix --tritons build/tritons/3.6.0 build/tritons/3.7.1
    python -m tests.triton_matrix --cover each                   # every width, head count, dtype, … once
    python -m tests.triton_matrix --all                          # every pair of them: hours

A folder of `--tritons` is what `pip install --target` has put a Triton into. Prints a row per implementation,
and each case that does not compile; 1 where one does not.
"""

import argparse
import os
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


def compile_case(corner, target, figures):
    """(compiled, refused or failed; what is worth knowing) of a case for a target."""
    from harness.catalog import loading
    from harness.catalog.build import build
    from harness.worker.frameworks.base import Patience
    from harness.worker.frameworks.triton import kernel_compiler

    wanted = kernel_compiler.gpu_of(target)
    kernel_compiler.use_absent_gpu(wanted)
    mode, patience = corner.case.mode, Patience(600.0, 1 << 60)
    try:
        built = build(loading.load(corner.module), corner.case)
    except Unsupported as refusal:
        return "refused", str(refusal)
    if figures:
        static = kernel_compiler.compile_call(built, mode, wanted, patience)
    else:
        static, _ = kernel_compiler.compile_launches(built, mode, patience)
    if static.argument_bytes is None:
        reason = static.unavailable["argument_bytes"]
        return ("refused" if reason.startswith(REFUSED) else "failed"), reason.removeprefix(REFUSED)
    return "compiled", "; ".join(describe(kernel) for kernel in static.kernels if describe(kernel))


def describe(kernel):
    """What does not fit a multiprocessor, or spills."""
    spilled = f"spills {kernel.spilled_bytes} B a thread" if kernel.spilled_bytes else ""
    words = ", ".join(filter(None, (kernel.refused, spilled)))
    return f"{kernel.kernel}: {words}" if words else ""


def serve(pipe, triton, cache, figures):
    """Compile the jobs of a pipe, in a process that finds this Triton first; begins with its version."""
    from harness.worker.frameworks.triton.environment import prepare_environment

    if triton:
        sys.path.insert(0, str(triton))
    prepare_environment(interpret=False, cache=cache)
    import triton as installed  # not before, and by no parent: a process has one Triton

    pipe.send(installed.__version__)
    for job in iter(pipe.recv, None):
        begin = sum(os.times()[:4])  # of this process and of those that it has waited for
        try:
            outcome = compile_case(*job, figures)
        except Exception as error:  # a compiler's passes may raise anything
            outcome = "failed", f"{type(error).__name__}: {error}".splitlines()[0]
        pipe.send((*outcome, sum(os.times()[:4]) - begin))


class Compiler:
    """A process that compiles one job after the other, and the version of its Triton."""

    def __init__(self, *made_of):
        self.made_of = made_of
        self.pipe, theirs = get_context("fork").Pipe()
        self.process = get_context("fork").Process(target=serve, args=(theirs, *made_of), daemon=True)
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


def compile_all(triton, jobs, *, figures=False):
    """(the version of a Triton, the outcomes of the jobs), on all cores."""
    cores, idle = usable_cores(), SimpleQueue()

    def compile_one(job):
        compiler = idle.get()
        try:
            return compiler.compile(job)
        finally:
            idle.put(compiler)

    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(cores) as threads:
        compilers = [Compiler(triton, Path(cache), figures) for _ in range(cores)]
        for compiler in compilers:
            idle.put(compiler)
        outcomes = list(threads.map(compile_one, jobs))
        for compiler in compilers:
            compiler.pipe.send(None)
            compiler.process.join()
    return compilers[0].version, outcomes


def print_matrix(jobs, outcomes, targets):
    """A row per implementation, a column per Triton and target: how many of its cases compiled, or failed."""
    names = list(dict.fromkeys(corner.case.implementation for corner, _ in jobs))
    heads = [f"{triton} {target.partition(':')[2]}" for triton in outcomes for target in targets]
    width = max(map(len, names))
    print(f"{'cases compiled':{width}}", *heads, sep="  ")
    for name in names:
        counts = [
            Counter(
                outcome
                for (corner, at), (outcome, *_) in zip(jobs, found, strict=True)
                if corner.case.implementation == name and at == target
            )
            for found in outcomes.values()
            for target in targets
        ]
        cells = [f"{count['failed']} FAILED" if count["failed"] else count["compiled"] for count in counts]
        print(
            f"{name:{width}}",
            *(f"{cell:>{len(head)}}" for cell, head in zip(cells, heads, strict=True)),
            sep="  ",
        )


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
    parser.add_argument(
        "--figures", action="store_true", help="print refusals, spills and what does not fit, too"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        chosen = [
            corner
            for corner in corners(folder, STRENGTHS[given.cover])
            if not given.only or corner.case.implementation.partition("/")[2] in given.only
        ]
        jobs = [(corner, target) for corner in chosen for target in given.targets]
        begin = time.monotonic()
        outcomes = dict(compile_all(triton, jobs, figures=given.figures) for triton in given.tritons)
    print_matrix(jobs, outcomes, given.targets)
    print_outcomes(jobs, outcomes, ("failed", "refused", "compiled") if given.figures else ("failed",))
    ends = [outcome for found in outcomes.values() for outcome, *_ in found]
    count = Counter(ends)
    print(
        f"{len(ends)} compilations: {count['compiled']} compiled, {count['refused']} refused in a sentence, "
        f"{count['failed']} failed, in {time.monotonic() - begin:.0f} s"
    )
    sys.exit(count["failed"] > 0)


if __name__ == "__main__":
    main()
