"""How the tests are spread: a file stays on one worker, long files start first, one thread per worker."""

import os
import re

import pytest

# Threads that spin while they wait for each other take the cores from the other workers.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# The tests' small programs compile longer than they run. Without LLVM's optimizations XLA plans the same;
# `make gate` and `make claims` hold the contracts with them.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
# Tests compile for CUDA, of whose libraries none is loaded for that.
os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
# Before inductor's first kernel g++ would be asked for a quarter of a minute which vectors it compiles for.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")


def cores_of_worker(worker, workers, cores):
    """Every `workers`-th core, from the worker's own on.

    What measures with one thread is bound to the first of its cores: of all workers' that would be one core.
    """
    return cores[worker::workers] or cores[worker % len(cores) :][:1]


if "PYTEST_XDIST_WORKER" in os.environ:
    os.sched_setaffinity(
        0,
        cores_of_worker(
            int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw")),
            int(os.environ["PYTEST_XDIST_WORKER_COUNT"]),
            sorted(os.sched_getaffinity(0)),
        ),
    )

# Started late, one of these would be what everybody waits for.
LONG = (
    "impls/test_conformance.py", "cli/gate/test_gate_timed.py", "honesty/test_cheats.py", "cli/test_run.py",
    "cli/test_mistakes.py", "cli/test_checks.py", "cli/test_profile.py", "cli/gate/test_gate_static.py",
    "impls/test_offsets_answers.py", "impls/test_points.py", "impls/test_kernels.py",
    "impls/test_offsets.py", "impls/test_kernel_plans.py", "impls/test_triton_corners.py",
    "cli/test_static.py", "testing/test_cases.py", "report/charts/test_legibility.py",
    "xla/test_agreement.py", "impls/test_attention_tiles.py",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    rank = {f"tests/{name}": place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.nodeid.partition("::")[0], len(LONG)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        """A file is a unit, whose fixtures are made once.

        Of the conformance suite each family is one; two files of the command line share one measured run.
        """

        def _split_scope(self, nodeid):
            file, _, test = nodeid.partition("::")
            if file.endswith("test_conformance.py") and (family := re.search(r"\[(\w+)", test)):
                return file + family[1]
            return "tests/cli/test_run.py" if file == "tests/cli/test_mistakes.py" else file

    config.option.loadscopereorder = False
    return ByFile(config, log)
