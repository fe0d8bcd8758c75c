"""A compile worker sends a case to where its framework is compiled, or refuses it and starts nothing."""

from contextlib import closing

import pytest

from harness.core.errors import Unsupported
from harness.run.compile import pool
from harness.run.compile.compile_worker import CompileWorker
from harness.run.processes.worker_process import Processes
from tests.run.compile.fakes import SETTINGS


@pytest.fixture
def worker(catalog):
    with closing(Processes([], "cpu")) as processes:
        yield CompileWorker(catalog, processes)


@pytest.mark.parametrize("target", ["tpu:v5p", "cuda:h200"])
def test_torch_cannot_cross_compile(worker, ask, target):
    answer = worker.compile(ask(target=target, implementation="mask/torch_scatter"), SETTINGS)
    assert answer.status == "unsupported"
    assert answer.reason == f"torch cannot compile for {target}; use --target host"
    assert not worker.processes.servers


def test_pool_workers_use_different_cores(catalog, ask, tmp_path, monkeypatch):
    """With fewer threads than cores, all would else compile on the first ones, one after the other."""
    jobs = []

    def spawn(_processes, job, _memory_bytes):
        jobs.append(job)
        raise Unsupported("it need not start")

    monkeypatch.setattr(Processes, "spawn", spawn)
    monkeypatch.setattr(pool, "usable_cores", lambda: 3)
    monkeypatch.setattr(pool, "usable_memory", lambda: 1 << 40)
    for worker in pool.Pool(catalog, tmp_path).workers:
        worker.compile(ask(target="tpu:v5p"), SETTINGS)
        worker.close()
    assert [job.core for job in jobs] == [0, 1, 2]
