"""Compile every Triton kernel for GPUs that are not at hand, with one Triton or several; nothing runs.

    python -m tests.triton_matrix                                # with the installed Triton
    python -m tests.triton_matrix --tritons build/tritons/3.6.0 build/tritons/3.7.1
    python -m tests.triton_matrix --each                         # every width, head count, dtype, … once

A folder of `--tritons` is what `pip install --target` has put a Triton into. Prints each case that does not
compile, and how many do; 1 where one does not.
"""

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from harness.core.errors import Unsupported
from harness.core.machine import usable_cores
from tests.triton_corners import corners

TARGETS = ("cuda:sm_80", "cuda:sm_90", "cuda:sm_100")
REFUSED = "cannot be traced over fake tensors: Unsupported: "  # by the call, not by its builder


def compile_case(corner, target):
    """(compiled, refused or failed; why) of a case for a target."""
    from harness.catalog import loading
    from harness.catalog.build import build
    from harness.worker.frameworks.base import TraceLimits
    from harness.worker.frameworks.triton import kernel_compiler

    wanted = kernel_compiler.gpu_of(target)
    kernel_compiler.use_absent_gpu(wanted)
    mode, limits = corner.case.mode, TraceLimits(600.0, 1 << 60)
    try:
        built = build(loading.load(corner.module), corner.case)
    except Unsupported as refusal:
        return "refused", str(refusal)
    static, _ = kernel_compiler.compile_launches(built, mode, limits)
    if static.argument_bytes is None:
        reason = static.unavailable["argument_bytes"]
        return ("refused" if reason.startswith(REFUSED) else "failed"), reason.removeprefix(REFUSED)
    return "compiled", ""


def begin(triton, cache):
    """In a new process: it finds this Triton first."""
    from harness.worker.frameworks.triton.environment import prepare_environment

    if triton:
        sys.path.insert(0, str(triton))
    prepare_environment(interpret=False, cache=cache)


def installed_version():
    import triton  # by no parent: a process has one Triton

    return triton.__version__


def outcome_of(job):
    try:
        return compile_case(*job)
    except Exception as error:  # a compiler's passes may raise anything
        return "failed", f"{type(error).__name__}: {error}".splitlines()[0]


def compile_all(triton, jobs):
    """(the version of a Triton, the outcomes of the jobs), on all cores."""
    with (
        tempfile.TemporaryDirectory() as cache,
        ProcessPoolExecutor(usable_cores(), get_context("fork"), begin, (triton, Path(cache))) as pool,
    ):
        return pool.submit(installed_version).result(), [*pool.map(outcome_of, jobs)]


def print_outcomes(triton, jobs, outcomes):
    """Each failure, and how many there are; how many failed."""
    for (corner, target), (outcome, why) in zip(jobs, outcomes, strict=True):
        if outcome == "failed":
            print(f"Triton {triton}, {target}, {corner.case.id}: {why}")
    count = Counter(outcome for outcome, _ in outcomes)
    print(
        f"Triton {triton}: {count['compiled']} compiled, {count['refused']} refused in a sentence, "
        f"{count['failed']} failed"
    )
    return count["failed"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tritons", nargs="+", type=Path, default=[None], metavar="FOLDER")
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="implementations; default: all")
    parser.add_argument("--each", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        chosen = [
            corner
            for corner in corners(folder, each_value=given.each)
            if not given.only or corner.case.implementation.partition("/")[2] in given.only
        ]
        jobs = [(corner, target) for corner in chosen for target in given.targets]
        found = [compile_all(triton, jobs) for triton in given.tritons]
    sys.exit(sum(print_outcomes(triton, jobs, outcomes) for triton, outcomes in found) > 0)


if __name__ == "__main__":
    main()
