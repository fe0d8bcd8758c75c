"""How the tests are spread: a file stays on one worker, long files start first, one thread per worker."""

import os
import re

import pytest

# Threads that spin while they wait for each other take the cores from the other workers.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Started late, one of these would be what everybody waits for.
LONG = (
    "impls/test_conformance.py",
    "cli/gate/test_gate_timed.py",
    "impls/test_offsets_runs.py",
    "worker/test_long_traces.py",
    "impls/test_mla_jax.py",
    "impls/test_offsets.py",
    "impls/test_topk.py",
    "cli/test_run.py",
)


def pytest_collection_modifyitems(items):
    rank = {f"tests/{name}": place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.nodeid.partition("::")[0], len(LONG)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        """A file is a unit, whose fixtures are made once; of the conformance suite each family is one."""

        def _split_scope(self, nodeid):
            file, _, test = nodeid.partition("::")
            family = re.search(r"\[(\w+)", test) if file.endswith("test_conformance.py") else None
            return file + (family[1] if family else "")

    config.option.loadscopereorder = False
    return ByFile(config, log)
